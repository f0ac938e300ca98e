// SPDX-License-Identifier: Apache-2.0
// Names for values that are added to others' graphs.
#pragma once

#include <string>

#include "graph/error.h"

namespace lockstep {

// `base`, or the first of base_1, base_2 and so on that is not taken.
template <class IsTaken>
std::string fresh_name(const std::string& base, const IsTaken& is_taken) {
  std::string name = base;
  for (int suffix = 1; is_taken(name); ++suffix) name = join(base, "_", suffix);
  return name;
}

}  // namespace lockstep
