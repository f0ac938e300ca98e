// SPDX-License-Identifier: Apache-2.0
// Sheared, shifted and turned pictures: each pixel takes the nearest source pixel, pixels from
// outside are black. Positions are computed in PIL's 16-bit fixed point, so results are PIL's.
#pragma once

#include "data/augment/byte_picture.h"

namespace lockstep {

// Shifts each row by slope * y, or each column by slope * x.
void shear_across(const BytePicture& picture, double slope);
void shear_down(const BytePicture& picture, double slope);
// Shifts by whole pixels to the right, or down.
void shift_across(const BytePicture& picture, int64_t pixels);
void shift_down(const BytePicture& picture, int64_t pixels);
// Turns around the centre, counter-clockwise.
void turn(const BytePicture& picture, double degrees);

}  // namespace lockstep
