// SPDX-License-Identifier: Apache-2.0
// A chart's axis: positions of values, and the values to label.
#pragma once

#include <limits>
#include <vector>

namespace lockstep {

enum class Scale { linear, from_zero, log };

class ChartAxis {
 public:
  // `rounded`: a linear axis ends at labelled values.
  explicit ChartAxis(Scale scale, bool rounded = true) : scale_(scale), rounded_(rounded) {}

  // Extends the range to `value`. A logarithmic axis ignores values up to 0; at() puts them at the
  // low end.
  void include(double value);
  bool empty() const { return !(low_ <= high_); }
  // The position, from 0 at the low end to 1.
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

}  // namespace lockstep
