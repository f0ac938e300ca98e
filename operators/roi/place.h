// SPDX-License-Identifier: Apache-2.0
// Checks of the indices that assign an image and a level to a RoI.
#pragma once

#include "lockstep/error.h"

namespace lockstep {

template <class Index>
int64_t checked_image(Index image, int64_t images, int64_t roi, const char* op) {
  // Some operators store the image as a float, which may be NaN.
  check(image >= 0 && image < static_cast<Index>(images), op, ": image ", image, " of RoI ", roi,
        " is outside 0..", images - 1);
  return static_cast<int64_t>(image);
}

// Level -1 marks an empty slot.
inline int64_t checked_level(int64_t level, std::size_t levels, int64_t roi, const char* op) {
  check(level >= -1 && level < static_cast<int64_t>(levels), op, ": level ", level, " of RoI ", roi,
        " is outside -1..", static_cast<int64_t>(levels) - 1);
  return level;
}

}  // namespace lockstep
