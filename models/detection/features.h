// SPDX-License-Identifier: Apache-2.0
// Feature maps that a detector's heads read from its body.
#pragma once

#include <string>
#include <vector>

#include "lockstep/net.h"

namespace lockstep {

struct Feature {
  Value x;  // [I, channels, h, w]
  int64_t channels = 0;
  int64_t stride = 1;  // input pixels per pixel of the map
  std::string name;    // Detectron's name
};

// The levels of a pyramid, finest first, or the only feature map of a body without a pyramid.
struct Features {
  std::vector<Feature> maps;
  int64_t first_level = 0;  // map i is level first_level + i, with stride 2^level; 0: no pyramid
  bool pyramid() const { return first_level > 0; }
  const Feature& level(int64_t level) const;
};

}  // namespace lockstep
