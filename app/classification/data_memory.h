// SPDX-License-Identifier: Apache-2.0
// The memory for a configuration's images, checked before allocation.
#pragma once

#include "app/classification/config.h"

namespace lockstep {

// Throws if the memory for a key's number, or the sum for all keys, exceeds the free memory. The
// error names the keys.
void check_data_memory(const ClassificationConfig& config);

}  // namespace lockstep
