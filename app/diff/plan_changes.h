// SPDX-License-Identifier: Apache-2.0
// The differences of two plans: devices, steps, kernels, layouts, waits, order, memory.
#pragma once

#include "app/diff/change.h"
#include "runtime/plan/plan.h"

namespace lockstep {

void add_plan_changes(const Plan& a, const Plan& b, Changes& changes);

}  // namespace lockstep
