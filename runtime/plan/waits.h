// Which steps must wait for steps of other workers.
#pragma once

#include "runtime/plan/plan.h"

namespace lockstep {

// Fills `waits` of every step. A step waits for another worker's step
//   - that makes one of its operands,
//   - that still uses memory this step writes in place,
//   - that still uses what lay before in arena bytes this step writes.
// Waits always point backwards in plan.steps, so workers that follow that order cannot deadlock;
// waits that follow from earlier ones of the same worker are left out.
void plan_waits(Plan& plan);

}  // namespace lockstep
