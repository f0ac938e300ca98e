// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/detection/config/detector_config.h"

namespace lockstep {

// Replaces former names of types and functions in a configuration, and infers values from other
// keys. Adds notes.
void infer_values(DetectorConfig& config, int processes);

}  // namespace lockstep
