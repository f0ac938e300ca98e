// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/detection/detector_config.h"

namespace lockstep {

// Throws with file:line and key for keys that contradict each other.
void check_detector(const DetectorConfig& config, int processes);

}  // namespace lockstep
