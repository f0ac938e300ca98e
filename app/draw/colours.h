// SPDX-License-Identifier: Apache-2.0
// Colours of classes, far apart for neighbours and light enough for a dark background.
#pragma once

#include <cstddef>

namespace lockstep {

struct Colour {
  double red = 0, green = 0, blue = 0;  // 0 to 1
};

Colour class_colour(std::size_t label);

// The perceived lightness, 0 to 1.
double lightness(const Colour& colour);

// Black or white, the more legible of both on `ground`.
Colour text_colour(const Colour& ground);

}  // namespace lockstep
