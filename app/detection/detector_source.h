// SPDX-License-Identifier: Apache-2.0
// The training step of a detector's configuration.
#pragma once

#include <string>
#include <vector>

#include "app/detection/config/detector_config.h"
#include "app/model_source.h"

namespace lockstep {

// Prints the configuration's notes to stderr, then builds its step, which is not initialised.
SourcedModel detector_from(const DetectorConfig& config);

}  // namespace lockstep
