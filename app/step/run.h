// SPDX-License-Identifier: Apache-2.0
// `lockstep step`: reads a network and its data, runs the steps, and writes the results.
#pragma once

#include "app/step/request.h"

namespace lockstep {

// Prints notes, the loss of each step and a summary. Writes files only after the last step, the
// state last: if a file cannot be written, the same call can be repeated.
void run_steps(const StepRequest& request);

}  // namespace lockstep
