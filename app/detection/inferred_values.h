// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/detection/detector_config.h"

namespace lockstep {

// After a file was read: today's names of types and functions, and the values that follow from
// other keys. Adds notes.
void infer_values(DetectorConfig& config, int processes);

}  // namespace lockstep
