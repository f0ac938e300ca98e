// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/detection/config/detector_config.h"

namespace lockstep {

// Throws an Error with file:line and key if keys contradict each other.
void check_detector(const DetectorConfig& config, int processes);

}  // namespace lockstep
