#include "tools/report/report.h"

#include <cmath>
#include <sstream>

#include "tools/report/chart.h"
#include "tools/report/style.h"

namespace lockstep {
namespace {

struct Curve {
  const char *metric, *name, *colour;
  bool dots = false;
};

Chart chart_of(const std::vector<MetricRow>& rows, const char* title,
               const std::vector<Curve>& curves, Scale scale) {
  Chart chart{title, "iteration", {}, scale};
  for (const Curve& curve : curves) {
    Series series{curve.name, curve.colour, {}, curve.dots};
    for (const MetricRow& row : rows)
      if (const double y = value_of(row, curve.metric); std::isfinite(y))
        series.points.emplace_back(value_of(row, "iter"), y);
    chart.series.push_back(std::move(series));
  }
  return chart;
}

std::string charts_of(const std::vector<MetricRow>& rows) {
  std::string text = "<div class=\"charts\">\n";
  for (const Chart& chart :
       {chart_of(rows, "Loss",
                 {{"loss", "training", "blue"}, {"test_loss", "held out", "orange", true}},
                 Scale::log),
        chart_of(rows, "Accuracy",
                 {{"accuracy", "training", "blue"}, {"test_accuracy", "held out", "orange", true}},
                 Scale::linear),
        chart_of(rows, "Learning rate", {{"lr", "rate", "green"}}, Scale::from_zero),
        chart_of(rows, "Images per second", {{"images_per_second", "images", "purple"}},
                 Scale::from_zero)})
    text += html_of(chart);
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
  out << "</div>\n<h2>Curves</h2>\n" << charts_of(report.metrics) << report.tested;
  out << "<h2>Settings</h2>\n<p>All other settings have their default values.</p>\n"
      << "<div class=\"settings\">" << table_of(report.settings) << "</div>\n<h2>This run</h2>\n"
      << table_of(report.about) << "</main><script>" << kReportScript
      << "</script></body></html>\n";
  return out.str();
}

}  // namespace lockstep
