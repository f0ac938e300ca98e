// The vertical or horizontal axis of a chart: where a value lies, and which values are written.
#pragma once

#include <limits>
#include <string>
#include <vector>

namespace lockstep {

enum class Scale { linear, from_zero, log };

class Axis {
 public:
  // `rounded`: it ends at values that are written, where it is no logarithm.
  explicit Axis(Scale scale, bool rounded = true) : scale_(scale), rounded_(rounded) {}

  // What it has to show. A logarithm has no place for values up to 0: they lie at its low end.
  void include(double value);
  bool empty() const { return !(low_ <= high_); }
  // From 0, the low end, to 1.
  double at(double value) const;
  std::vector<double> ticks() const;

 private:
  struct Ends {
    double low, high;
  };
  Ends ends() const;

  Scale scale_;
  bool rounded_;
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
};

// Four digits, thousands apart: 0.02, 1,234, 90,000.
std::string short_number(double value);

}  // namespace lockstep
