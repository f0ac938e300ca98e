// SPDX-License-Identifier: Apache-2.0
// The arenas of a plan, one for each worker: their blocks' offsets, and whether they can be
// allocated. Pass 8 of compile().
#pragma once

#include "runtime/plan/compile.h"

namespace lockstep {

// Adds a block for each workspace, then gives every block its offset, and the plan's own states
// theirs.
void lay_out_arenas(Plan& plan, const CompileRequest& compile);

// Values in host memory: throws naming the largest value if it alone, or all arenas together, need
// more than is free. The former is known before kernels are made.
void check_values(const Plan& plan);
void check_arenas(const Plan& plan);

}  // namespace lockstep
