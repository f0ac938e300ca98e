// SPDX-License-Identifier: Apache-2.0
// Colours of classes, far apart for neighbours and light enough to be seen on dark ground.
#pragma once

#include <cstddef>

namespace lockstep {

struct Colour {
  double red = 0, green = 0, blue = 0;  // 0 to 1
};

Colour class_colour(std::size_t label);

// As eyes weigh it, 0 to 1.
double lightness(const Colour& colour);

// Black or white, whichever is read more easily on `ground`.
Colour text_colour(const Colour& ground);

}  // namespace lockstep
