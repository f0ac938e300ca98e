// SPDX-License-Identifier: Apache-2.0
// COCO's ranges of areas, by the number of pixels of an object's mask.
#pragma once

#include <array>
#include <cstddef>

namespace lockstep {

struct AreaRange {
  double least = 0, most = 1e10;
};
inline constexpr AreaRange kAllAreas{}, kSmallAreas{0, 32 * 32}, kMediumAreas{32 * 32, 96 * 96},
    kLargeAreas{96 * 96, 1e10};

// The ranges by which boxes, masks and proposals are scored.
inline constexpr std::size_t kCocoAreas = 4;
inline constexpr std::array<AreaRange, kCocoAreas> kCocoAreaRanges{kAllAreas, kSmallAreas,
                                                                   kMediumAreas, kLargeAreas};

inline bool outside(double area, const AreaRange& range) {
  return area < range.least || area > range.most;
}

}  // namespace lockstep
