// SPDX-License-Identifier: Apache-2.0
#include "app/report/report.h"

#include <cctype>
#include <cmath>
#include <sstream>

#include "app/report/chart.h"
#include "app/report/style.h"

namespace lockstep {
namespace {

Chart chart_of(const std::vector<MetricRow>& rows, const CurveChart& curves) {
  Chart chart{curves.title, "iteration", {}, curves.scale};
  for (const Curve& curve : curves.curves) {
    Series series{curve.name, curve.colour, {}, curve.dots};
    for (const MetricRow& row : rows)
      if (const double y = value_of(row, curve.metric); std::isfinite(y))
        series.points.emplace_back(value_of(row, "iter"), y);
    chart.series.push_back(std::move(series));
  }
  return chart;
}

std::string charts_of(const Report& report) {
  std::vector<CurveChart> charts = report.charts;
  charts.push_back({"Learning rate", {{"lr", "rate", "green"}}, Scale::from_zero});
  std::string speed = report.unit + " per second";
  speed[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(speed[0])));
  charts.push_back(
      {speed, {{report.unit + "_per_second", report.unit, "purple"}}, Scale::from_zero});
  std::string text = "<div class=\"charts\">\n";
  for (const CurveChart& chart : charts) text += html_of(chart_of(report.metrics, chart));
  return text + "</div>\n";
}

}  // namespace

std::string html_of(const Report& report) {
  std::ostringstream out;
  out << "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">";
  if (report.refresh > 0)
    out << "<meta http-equiv=\"refresh\" content=\"" << report.refresh << "\">";
  out << "<title>" << escaped(report.title) << "</title><style>" << kReportStyle
      << "</style></head><body><main>\n<h1>" << escaped(report.title) << "</h1>\n<p class=\"state"
      << (report.failed ? " failed" : "") << "\">" << escaped(report.state) << "</p>\n";
  if (report.refresh > 0) out << "<progress value=\"" << report.progress << "\"></progress>\n";
  out << "<div class=\"facts\">\n";
  for (const auto& [name, value] : report.facts)
    out << "<div class=\"fact\"><b>" << escaped(value) << "</b><span>" << escaped(name)
        << "</span></div>\n";
  out << "</div>\n<h2>Curves</h2>\n" << charts_of(report) << report.tested << report.planned;
  out << "<h2>Settings</h2>\n<p>All other settings have their default values.</p>\n"
      << "<div class=\"settings\">" << table_of(report.settings) << "</div>\n<h2>This run</h2>\n"
      << table_of(report.about) << "</main><script>" << kReportScript
      << "</script></body></html>\n";
  return out.str();
}

}  // namespace lockstep
