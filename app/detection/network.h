// SPDX-License-Identifier: Apache-2.0
// The network of a detector's configuration, for pictures of one padded size: graphs have fixed
// shapes.
#pragma once

#include "app/detection/detector_config.h"
#include "data/detection/padded_shapes.h"
#include "lockstep/training_model.h"

namespace lockstep {

// Builds the step for the replicas of all processes: training for padded pictures of size
// `trained`, prediction for size `predicted`. 0x0 is the largest size that the configuration
// allows. Parameters do not depend on sizes. Throws for a network that this version does not build.
TrainingModel detector_step(const DetectorConfig& config, const PictureSize& trained,
                            const PictureSize& predicted, int processes);
// Trains and predicts with one size.
TrainingModel detector_step(const DetectorConfig& config, const PictureSize& size,
                            int processes = 1);

}  // namespace lockstep
