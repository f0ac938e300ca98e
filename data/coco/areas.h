// SPDX-License-Identifier: Apache-2.0
// COCO's ranges of areas: all, small, medium and large objects, by the number of pixels of the
// mask.
#pragma once

#include <array>
#include <cstddef>

namespace lockstep {

inline constexpr std::size_t kCocoAreas = 4;
inline constexpr std::array<std::array<double, 2>, kCocoAreas> kCocoAreaRanges{
    {{0, 1e10}, {0, 32 * 32}, {32 * 32, 96 * 96}, {96 * 96, 1e10}}};

inline bool outside(double area, std::size_t range) {
  return area < kCocoAreaRanges[range][0] || area > kCocoAreaRanges[range][1];
}

}  // namespace lockstep
