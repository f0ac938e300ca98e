// SPDX-License-Identifier: Apache-2.0
// Pictures with the truth and a network's result, side by side in HTML.
#pragma once

#include <string>
#include <vector>

#include "data/image.h"

namespace lockstep {

struct ShownComparison {
  Image picture, truth, found;
  std::string name;  // of the example
  std::string said;  // "iou 81.20 %"
};

std::string html_of(const std::vector<ShownComparison>& comparisons);

}  // namespace lockstep
