// SPDX-License-Identifier: Apache-2.0
// Feature maps on their way from a detector's body to its heads.
#pragma once

#include <string>
#include <vector>

#include "builders/net/net.h"

namespace lockstep {

struct Feature {
  Value x;  // [I, channels, h, w]
  int64_t channels = 0;
  int64_t stride = 1;  // pixels of the input for one of the map
  std::string name;    // Detectron's
};

// The levels of a pyramid, finest first, or the one feature map of a body without a pyramid.
struct Features {
  std::vector<Feature> maps;
  int64_t first_level = 0;  // map i is level first_level + i: its stride is 2^level; 0: no pyramid
  bool pyramid() const { return first_level > 0; }
  const Feature& level(int64_t level) const;
};

}  // namespace lockstep
