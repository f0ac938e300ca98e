// SPDX-License-Identifier: Apache-2.0
// The learning rates of a file, for the images of a step.
#pragma once

#include "app/detection/detector_config.h"

namespace lockstep {

// The images of a step that a file's rates are meant for: before the command line changed them.
struct ImagesOfStep {
  int64_t replicas = 1, of_each = 1;
  int64_t all() const { return replicas * of_each; }
};
ImagesOfStep images_of_file(const DetectorConfig& config);

// Where a step has other images: scales rates and iterations if SOLVER.SCALE_TO_BATCH says so, else
// says in `misfit` what does not fit.
void fit_to_batch(DetectorConfig& config, const ImagesOfStep& of_file, int processes);

}  // namespace lockstep
