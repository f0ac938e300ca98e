// SPDX-License-Identifier: Apache-2.0
#include "app/report/chart.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <map>
#include <sstream>

#include "app/format.h"
#include "app/html.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr double kUnits = 1000;  // width and height of the drawing
constexpr int kSlices = 250;     // more are indistinguishable on a screen

std::string place(double share) {
  std::ostringstream text;
  text << std::setprecision(4) << kUnits * share;
  return text.str();
}

class Drawing {
 public:
  explicit Drawing(const Chart& chart)
      : chart_(chart), x_(Scale::from_zero, false), y_(chart.scale) {
    for (const Series& series : chart.series)
      for (auto [x, y] : series.points)
        if (std::isfinite(y)) x_.include(x), y_.include(y);
  }

  std::string run() {
    out_ << "<figure class=\"chart\"><figcaption><b>" << escaped(chart_.title) << "</b>";
    legend();
    out_ << "<output></output></figcaption>\n<div class=\"plot\">";
    if (x_.empty()) {
      out_ << "<p class=\"none\">no numbers yet</p></div></figure>\n";
      return out_.str();
    }
    out_ << "<svg viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\""
         << escaped(chart_.title) << "\">\n";
    for (double tick : y_.ticks())
      out_ << "<path class=\"grid\" d=\"M0 " << high(tick) << "H1000\"/>";
    for (const Series& series : chart_.series) line(series);
    readings();
    out_ << "</svg>";
    labels();
    out_ << "</div></figure>\n";
    return out_.str();
  }

 private:
  std::string along(double x) const { return place(x_.at(x)); }
  std::string high(double y) const { return place(1 - y_.at(y)); }
  int slice(double x) const { return std::min(kSlices - 1, static_cast<int>(kSlices * x_.at(x))); }

  void legend() {
    const auto drawn = std::count_if(chart_.series.begin(), chart_.series.end(),
                                     [](const Series& series) { return !series.points.empty(); });
    if (drawn < 2) return;
    out_ << "<span class=\"legend\">";
    for (const Series& series : chart_.series)
      out_ << "<i class=\"" << series.colour << "\"></i>" << escaped(series.name) << " ";
    out_ << "</span>";
  }

  // Keeps the smallest and the largest value of each slice, so that no spike is lost.
  std::vector<std::pair<double, double>> thinned(const Series& series) const {
    if (series.points.size() <= 2 * kSlices) return series.points;
    std::map<int, std::vector<std::pair<double, double>>> slices;
    for (const auto& point : series.points) slices[slice(point.first)].push_back(point);
    std::vector<std::pair<double, double>> kept;
    for (const auto& [number, points] : slices) {
      auto [least, most] = std::minmax_element(
          points.begin(), points.end(), [](auto& a, auto& b) { return a.second < b.second; });
      kept.push_back(*std::min(least, most));
      if (least != most) kept.push_back(*std::max(least, most));
    }
    return kept;
  }

  void line(const Series& series) {
    std::ostringstream steps, dots;
    bool drawing = false;
    for (auto [x, y] : thinned(series)) {
      if (std::isfinite(y)) {
        steps << (drawing ? "L" : "M") << along(x) << " " << high(y);
        dots << "M" << along(x) << " " << high(y) << "h0";
      }
      drawing = std::isfinite(y);
    }
    out_ << "\n<path class=\"line " << series.colour << "\" d=\"" << steps.str() << "\"/>";
    if (series.dots || series.points.size() < 3)
      out_ << "<path class=\"line dots " << series.colour << "\" d=\"" << dots.str() << "\"/>";
  }

  // Draws a strip for each slice with a point. A strip extends halfway to its neighbours.
  void readings() {
    std::map<int, double> at;
    std::map<int, std::string> said;
    for (const Series& series : chart_.series) {
      std::map<int, std::pair<double, double>> last;
      for (const auto& point : series.points)
        if (std::isfinite(point.second)) last[slice(point.first)] = point;
      for (const auto& [number, point] : last) {
        at[number] = point.first;
        said[number] += join("\n", chart_.series.size() > 1 ? series.name : chart_.title, " ",
                             short_number(point.second));
      }
    }
    double from = 0;
    out_ << "\n<g class=\"reading\">";
    for (auto here = at.begin(); here != at.end(); ++here) {
      const auto next = std::next(here);
      const double to = next == at.end() ? 1 : (x_.at(here->second) + x_.at(next->second)) / 2;
      out_ << "<rect x=\"" << place(from) << "\" width=\"" << place(to - from)
           << "\" height=\"1000\"><title>" << escaped(chart_.x_label) << " "
           << short_number(here->second) << escaped(said[here->first]) << "</title></rect>";
      from = to;
    }
    out_ << "</g>";
  }

  void labels() {
    for (double tick : y_.ticks())
      out_ << "<span class=\"y\" style=\"top:" << 100 * (1 - y_.at(tick)) << "%\">"
           << short_number(tick) << "</span>";
    for (double tick : x_.ticks())
      out_ << "<span class=\"x\" style=\"left:" << 100 * x_.at(tick) << "%\">" << short_number(tick)
           << "</span>";
    out_ << "<span class=\"x name\">" << escaped(chart_.x_label) << "</span>";
  }

  const Chart& chart_;
  ChartAxis x_, y_;
  std::ostringstream out_;
};

}  // namespace

std::string html_of(const Chart& chart) { return Drawing(chart).run(); }

}  // namespace lockstep
