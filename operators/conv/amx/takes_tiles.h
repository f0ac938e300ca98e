// SPDX-License-Identifier: Apache-2.0
// What all candidates refuse that compute by matrix tiles.
#pragma once

#include "runtime/kernel/table.h"

namespace lockstep {

// All but bfloat16 on a processor whose tiles this process may use, of `shapes` that do not refuse.
Refusal takes_tiles(Refusal processor, Refusal shapes);

}  // namespace lockstep
