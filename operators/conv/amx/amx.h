// SPDX-License-Identifier: Apache-2.0
// Convolutions of bfloat16 by matrix tiles (AMX): candidates before oneDNN's, whose own read and
// write channels last, a layout that plans for CPUs do not know. Threads do not change a bit.
#pragma once

#include "runtime/kernel/table.h"

namespace lockstep {

// `processor` refuses those without matrix tiles.
Candidate amx_forward(Refusal processor);
Candidate amx_grad_x(Refusal processor);  // a FusedConvGradX's, too
Candidate amx_grad_w(Refusal processor);
// Of row-major images of few channels, as a network's first ones.
Candidate amx_windows_forward(Refusal processor);
Candidate amx_windows_grad_w(Refusal processor);

}  // namespace lockstep
