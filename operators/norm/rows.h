// SPDX-License-Identifier: Apache-2.0
// The view of a tensor that normalisations share on all devices.
#pragma once

#include <algorithm>

#include "lockstep/kernel.h"

namespace lockstep {

// Rows that are normalised separately, and the index of each element's scale.
struct NormRows {
  int64_t count = 1;
  int64_t length = 1;
  int64_t channels = 0;  // 0: scale by position; else by row modulo channels
  double epsilon = 0;

  constexpr int64_t scale_of(int64_t row, int64_t i) const {
    return channels > 0 ? row % channels : i;
  }
};

// The rows of operand `operand`: planes of a channel, or the last axes of an example.
NormRows planes_of(const KernelRequest& request, std::size_t operand);
NormRows last_axes_of(const KernelRequest& request, std::size_t operand);

// Local response normalisation: x / base ^ beta.
struct Lrn {
  double alpha, beta, bias;
  int64_t size, planes, channels, plane;

  constexpr int64_t channel(int64_t at) const { return at / plane % channels; }
  // bias + alpha / size * the sum of squares of the channels around c.
  constexpr double base(const float* x, int64_t c, int64_t at) const {
    const int64_t first = std::max<int64_t>(0, c - (size - 1) / 2);
    const int64_t last = std::min(channels - 1, c + size / 2);
    double square = 0;
    for (int64_t k = first; k <= last; ++k) {
      const double value = x[at + (k - c) * plane];
      square += value * value;
    }
    return bias + alpha / static_cast<double>(size) * square;
  }
  // The first and last channel whose base includes channel c.
  constexpr int64_t first_with(int64_t c) const { return std::max<int64_t>(0, c - size / 2); }
  constexpr int64_t last_with(int64_t c) const {
    return std::min(channels - 1, c + (size - 1) / 2);
  }
  constexpr double slope() const { return 2 * alpha * beta / static_cast<double>(size); }
};
Lrn lrn_of(const KernelRequest& request);

}  // namespace lockstep
