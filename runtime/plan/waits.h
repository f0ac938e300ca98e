// SPDX-License-Identifier: Apache-2.0
// Waits between steps of different workers.
#pragma once

#include "runtime/plan/plan.h"

namespace lockstep {

// Fills `waits` of every step. A step waits for another worker's step
//   - that makes one of its operands,
//   - that still uses memory this step writes in place,
//   - that still uses the previous content of arena bytes this step writes.
// Waits always point backwards in plan.steps, so workers that follow this order cannot deadlock.
// Waits implied by earlier waits of the same worker are omitted.
void plan_waits(Plan& plan);

}  // namespace lockstep
