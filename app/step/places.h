// SPDX-License-Identifier: Apache-2.0
// The places of the files that `lockstep step` writes.
#pragma once

#include "app/step/request.h"

namespace lockstep {

// Checks before any work that the files can be written and replace no input. Throws an error that
// names the option and the file.
void check_places(const StepRequest& request);

}  // namespace lockstep
