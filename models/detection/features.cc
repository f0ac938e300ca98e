// SPDX-License-Identifier: Apache-2.0
#include "models/detection/features.h"

namespace lockstep {

const Feature& Features::level(int64_t level) const {
  const int64_t index = level - first_level;
  check(pyramid() && index >= 0 && index < static_cast<int64_t>(maps.size()),
        "the feature pyramid has levels ", first_level, " to ",
        first_level + static_cast<int64_t>(maps.size()) - 1, ", not ", level);
  return maps[index];
}

}  // namespace lockstep
