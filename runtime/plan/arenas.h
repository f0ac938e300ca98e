// SPDX-License-Identifier: Apache-2.0
// The arenas of a plan, one for each worker: offsets of their blocks, and checks of free memory.
// Pass 8 of compile().
#pragma once

#include "runtime/plan/compile.h"
#include "runtime/plan/plan.h"

namespace lockstep {

// Adds a block for each workspace. Sets the offset of every block and of the plan's own states.
void lay_out_arenas(Plan& plan, const CompileRequest& compile);

// For values in host memory. check_values() throws if the largest value alone needs more than the
// free memory; it needs no kernels. check_arenas() throws if all arenas together need more. Both
// errors name the largest value.
void check_values(const Plan& plan);
void check_arenas(const Plan& plan);

}  // namespace lockstep
