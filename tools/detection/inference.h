// What follows from the keys of a detector, after they were read: today's names, values that other
// keys imply, the rates for the images of a step; and whether all fit together.
#pragma once

#include "tools/detection/detector_config.h"

namespace lockstep {

// Today's names for types and functions, and values that follow from others. Adds notes.
void infer_values(DetectorConfig& config, int processes);

// Throws with file:line and key for keys that do not fit together.
void check_detector(const DetectorConfig& config, int processes);

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
