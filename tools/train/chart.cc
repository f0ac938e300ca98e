#include "tools/train/chart.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>
#include <sstream>

namespace lockstep {
namespace {

constexpr double kWidth = 620, kHeight = 300, kLeft = 62, kRight = 14, kTop = 34, kBottom = 40;

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void include(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  void repair() {
    if (!(low <= high)) low = 0, high = 1;
    if (low == high) high = low + (low == 0 ? 1 : std::abs(low) * 0.1);
  }
};

// The step 1, 2 or 5 times a power of ten that gives about five lines.
double tick_step(const Range& range) {
  const double raw = (range.high - range.low) / 5;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (double factor : {1.0, 2.0, 5.0})
    if (raw <= factor * power) return factor * power;
  return 10 * power;
}

std::string number(double value) {
  std::ostringstream text;
  text << std::setprecision(4) << (std::abs(value) < 1e-12 ? 0 : value);
  return text.str();
}

class Drawing {
 public:
  explicit Drawing(const Chart& chart) : chart_(chart) {
    for (const Series& series : chart.series)
      for (auto [x, y] : series.points) {
        x_.include(x);
        y_.include(y);
      }
    if (chart.from_zero) y_.include(0);
    x_.repair();
    y_.repair();
  }

  std::string run() {
    out_ << "<svg viewBox=\"0 0 " << kWidth << " " << kHeight
         << "\" xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"" << chart_.title
         << "\">\n<text class=\"title\" x=\"" << kLeft << "\" y=\"20\">" << chart_.title
         << "</text>\n";
    grid();
    for (const Series& series : chart_.series) line(series);
    legend();
    out_ << "</svg>\n";
    return out_.str();
  }

 private:
  double at_x(double x) const {
    return kLeft + (x - x_.low) / (x_.high - x_.low) * (kWidth - kLeft - kRight);
  }
  double at_y(double y) const {
    return kHeight - kBottom - (y - y_.low) / (y_.high - y_.low) * (kHeight - kTop - kBottom);
  }

  void grid() {
    const double step_y = tick_step(y_), step_x = tick_step(x_);
    for (double y = std::ceil(y_.low / step_y) * step_y; y <= y_.high + step_y * 1e-9; y += step_y)
      out_ << "<line class=\"grid\" x1=\"" << kLeft << "\" x2=\"" << kWidth - kRight << "\" y1=\""
           << at_y(y) << "\" y2=\"" << at_y(y)
           << "\"/><text class=\"tick\" text-anchor=\"end\" x=\"" << kLeft - 7 << "\" y=\""
           << at_y(y) + 4 << "\">" << number(y) << "</text>\n";
    for (double x = std::ceil(x_.low / step_x) * step_x; x <= x_.high + step_x * 1e-9; x += step_x)
      out_ << "<text class=\"tick\" text-anchor=\"middle\" x=\"" << at_x(x) << "\" y=\""
           << kHeight - kBottom + 17 << "\">" << number(x) << "</text>\n";
    out_ << "<text class=\"tick\" text-anchor=\"middle\" x=\"" << (kLeft + kWidth - kRight) / 2
         << "\" y=\"" << kHeight - 6 << "\">" << chart_.x_label << "</text>\n";
  }

  void line(const Series& series) {
    out_ << "<polyline fill=\"none\" stroke=\"" << series.colour
         << "\" stroke-width=\"2\" stroke-linejoin=\"round\" points=\"";
    for (auto [x, y] : series.points)
      if (std::isfinite(y)) out_ << number(at_x(x)) << "," << number(at_y(y)) << " ";
    out_ << "\"/>\n";
    if (!series.dots) return;
    for (auto [x, y] : series.points)
      if (std::isfinite(y))
        out_ << "<circle cx=\"" << at_x(x) << "\" cy=\"" << at_y(y) << "\" r=\"3.5\" fill=\""
             << series.colour << "\"/>\n";
  }

  void legend() {
    if (chart_.series.size() < 2) return;
    double x = kWidth - kRight;
    for (std::size_t i = chart_.series.size(); i-- > 0;) {
      const Series& series = chart_.series[i];
      x -= 7.2 * static_cast<double>(series.name.size());
      out_ << "<text class=\"tick\" x=\"" << x << "\" y=\"20\">" << series.name
           << "</text><rect x=\"" << x - 16 << "\" y=\"13\" width=\"11\" height=\"4\" fill=\""
           << series.colour << "\"/>\n";
      x -= 30;
    }
  }

  const Chart& chart_;
  Range x_, y_;
  std::ostringstream out_;
};

}  // namespace

std::string svg_of(const Chart& chart) { return Drawing(chart).run(); }

}  // namespace lockstep
