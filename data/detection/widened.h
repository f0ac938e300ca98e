// SPDX-License-Identifier: Apache-2.0
// Pictures at another width, for tests on widened pictures.
#pragma once

#include "data/image.h"

namespace lockstep {

// The picture with another width and the same height: interpolates linearly between the centres of
// pixels of a row, rounded to whole values.
Image widened(const Image& image, int64_t width);

}  // namespace lockstep
