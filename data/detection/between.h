// SPDX-License-Identifier: Apache-2.0
// The positions of a resampled line between the pixels of the line before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace lockstep {

// The position of an output pixel between two input pixels.
struct Between {
  int64_t first = 0, second = 0;
  float share = 0;  // weight of the second pixel
};

// `in_input` turns the place of an output pixel's centre into a place in the input.
template <class InInput>
std::vector<Between> positions_between(int64_t before, int64_t after, const InInput& in_input) {
  std::vector<Between> table;
  for (int64_t i = 0; i < after; ++i) {
    const double at = std::max(0.0, in_input(static_cast<double>(i) + 0.5) - 0.5);
    const int64_t first = std::min(static_cast<int64_t>(at), before - 1);
    table.push_back({first, std::min(first + 1, before - 1),
                     static_cast<float>(at - static_cast<double>(first))});
  }
  return table;
}

}  // namespace lockstep
