// SPDX-License-Identifier: Apache-2.0
// Fits a file's learning rates to the number of images of a step.
#pragma once

#include "app/detection/config/detector_config.h"

namespace lockstep {

// The images of a step that a file's rates are for, before the command line changes them.
struct ImagesOfStep {
  int64_t replicas = 1, of_each = 1;
  int64_t all() const { return replicas * of_each; }
};
ImagesOfStep images_of_file(const DetectorConfig& config);

// Does nothing if the step has this number of images. Otherwise scales rates and iterations if
// SOLVER.SCALE_TO_BATCH is true, or describes the mismatch in `misfit`.
void fit_to_batch(DetectorConfig& config, const ImagesOfStep& of_file, int processes);

}  // namespace lockstep
