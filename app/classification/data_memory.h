// SPDX-License-Identifier: Apache-2.0
// The memory for a configuration's images, checked before allocation.
#pragma once

#include "app/classification/config.h"

namespace lockstep {

// Throws naming the key whose number needs more memory than is free, or all of them if their sum
// does.
void check_data_memory(const ClassificationConfig& config);

}  // namespace lockstep
