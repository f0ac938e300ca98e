// SPDX-License-Identifier: Apache-2.0
// Unused names for new values of a graph.
#pragma once

#include <string>

#include "lockstep/error.h"

namespace lockstep {

// Returns `base`, or the first unused name of base_1, base_2, ..
template <class IsTaken>
std::string fresh_name(const std::string& base, const IsTaken& is_taken) {
  std::string name = base;
  for (int suffix = 1; is_taken(name); ++suffix) name = join(base, "_", suffix);
  return name;
}

}  // namespace lockstep
