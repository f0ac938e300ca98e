// SPDX-License-Identifier: Apache-2.0
// The document lockstep.plan/1: a plan with its memory. docs/schemas/plan-1.json describes it; a
// change that breaks readers gets another number.
#pragma once

#include <ostream>

#include "runtime/plan/plan.h"
#include "runtime/plan/planned_memory.h"

namespace lockstep {

inline constexpr const char* kPlanSchema = "lockstep.plan/1";

// `memory`: of the plan, and of minibatches on the host.
void write_json(std::ostream& out, const Plan& plan, const PlannedMemory& memory);

}  // namespace lockstep
