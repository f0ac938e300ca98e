// SPDX-License-Identifier: Apache-2.0
// The network of a detector's configuration, for pictures of one padded size: graphs have fixed
// shapes.
#pragma once

#include "app/detection/config/detector_config.h"
#include "data/detection/padded_shapes.h"
#include "data/detection/true_objects.h"
#include "lockstep/training_model.h"

namespace lockstep {

// Builds the step for the replicas of all processes: training for padded pictures of size
// `trained`, prediction for size `predicted`. 0x0 is the largest size that the configuration
// allows. Parameters do not depend on sizes. Throws for a network that this version does not build.
TrainingModel detector_step(const DetectorConfig& config, const PictureSize& trained,
                            const PictureSize& predicted, int processes);
// Builds the forward pass of a training step with one picture of this size and with `places` for
// its objects on each replica: the losses that training would have. `loss_weight` should be fed 1
// on each replica.
TrainingModel detector_losses(const DetectorConfig& config, const PictureSize& size,
                              const TruthPlaces& places, int processes);
// Trains and predicts with one size.
TrainingModel detector_step(const DetectorConfig& config, const PictureSize& size,
                            int processes = 1);

// The configuration with one CPU replica that has all threads, for predictions: pictures come one
// by one, and the machine may lack the run's devices.
DetectorConfig on_one_replica(DetectorConfig config);

}  // namespace lockstep
