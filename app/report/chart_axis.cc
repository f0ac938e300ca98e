// SPDX-License-Identifier: Apache-2.0
#include "app/report/chart_axis.h"

#include <algorithm>
#include <cmath>

namespace lockstep {
namespace {

constexpr double kRounding = 1e-9;

// 1, 2 or 5 times a power of ten, for about five steps.
double even_step(double low, double high) {
  const double raw = (high - low) / 5, power = std::pow(10, std::floor(std::log10(raw)));
  for (double factor : {1.0, 2.0, 5.0})
    if (raw <= factor * power * (1 + kRounding)) return factor * power;
  return 10 * power;
}

std::vector<double> even_ticks(double low, double high) {
  const double step = even_step(low, high);
  std::vector<double> ticks;
  for (double n = std::ceil(low / step - kRounding); n * step <= high + step * kRounding; ++n)
    ticks.push_back(n * step);
  return ticks;
}

// Powers of ten; over few decades also 2 and 5 times powers of ten.
std::vector<double> log_ticks(double low, double high) {
  const double decades = std::log10(high / low);
  const int stride = static_cast<int>(decades / 6) + 1;
  std::vector<double> ticks;
  for (int power = static_cast<int>(std::floor(std::log10(low))); power <= std::log10(high);
       power += stride)
    for (double factor : {1.0, 2.0, 5.0}) {
      const double tick = factor * std::pow(10, power);
      const bool fits = tick >= low * (1 - kRounding) && tick <= high * (1 + kRounding);
      if (fits && (factor == 1 || decades < 2.5)) ticks.push_back(tick);
    }
  return ticks.size() < 3 ? even_ticks(low, high) : ticks;
}

}  // namespace

void ChartAxis::include(double value) {
  if (!std::isfinite(value) || (scale_ == Scale::log && value <= 0)) return;
  low_ = std::min(low_, value);
  high_ = std::max(high_, value);
}

ChartAxis::Ends ChartAxis::ends() const {
  Ends ends{low_, high_};
  if (empty()) ends = {scale_ == Scale::log ? 0.1 : 0.0, 1.0};
  if (scale_ == Scale::from_zero) ends.low = std::min(ends.low, 0.0);
  if (ends.low == ends.high) {
    const double room = ends.low == 0 ? 1 : std::abs(ends.low) * 0.1;
    ends = {ends.low - (scale_ == Scale::linear ? room : 0), ends.high + room};
  }
  if (!rounded_ || scale_ == Scale::log) return ends;
  const double step = even_step(ends.low, ends.high);
  return {step * std::floor(ends.low / step + kRounding),
          step * std::ceil(ends.high / step - kRounding)};
}

double ChartAxis::at(double value) const {
  const auto [low, high] = ends();
  const double place = scale_ == Scale::log
                           ? std::log(std::max(value, low) / low) / std::log(high / low)
                           : (value - low) / (high - low);
  return std::clamp(place, 0.0, 1.0);
}

std::vector<double> ChartAxis::ticks() const {
  const auto [low, high] = ends();
  return scale_ == Scale::log ? log_ticks(low, high) : even_ticks(low, high);
}

}  // namespace lockstep
