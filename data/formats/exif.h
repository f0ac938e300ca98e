// SPDX-License-Identifier: Apache-2.0
// How a camera was held: the orientation in a picture's EXIF block.
#pragma once

#include <cstdint>
#include <string_view>

#include "data/image.h"

namespace lockstep {

// EXIF's number 1 to 8, in the first directory of the block, with or without "Exif\0\0" before it.
// 1, which is upright, for a block that is empty, damaged or does not say.
int exif_orientation(std::string_view block);

// Whether height and width change places.
constexpr bool swaps_sides(int orientation) { return orientation >= 5; }

// The picture as a viewer shows it that obeys the orientation.
Image turned(Image image, int orientation);

}  // namespace lockstep
