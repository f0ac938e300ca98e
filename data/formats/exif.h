// SPDX-License-Identifier: Apache-2.0
// Reads the orientation in a picture's EXIF block.
#pragma once

#include <cstdint>
#include <string_view>

#include "data/image.h"

namespace lockstep {

// Returns EXIF's orientation, 1 to 8, from the first directory of the block. The block may begin
// with "Exif\0\0". Returns 1 (upright) if the block is empty or damaged or has no orientation.
int exif_orientation(std::string_view block);

// True if the orientation swaps height and width.
constexpr bool swaps_sides(int orientation) { return orientation >= 5; }

// Turns and mirrors the picture by its orientation, as a viewer does.
Image turned(Image image, int orientation);

}  // namespace lockstep
