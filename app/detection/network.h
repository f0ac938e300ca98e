// SPDX-License-Identifier: Apache-2.0
// The network of a detector's configuration, for pictures of one padded size: graphs have fixed
// shapes.
#pragma once

#include "app/detection/detector_config.h"
#include "data/detection/padded_shapes.h"
#include "graph/training.h"

namespace lockstep {

// The step for the replicas of all processes, for padded pictures of one size, and prediction
// for those of another. 0x0: the widest that the configuration allows. Parameters do not depend on
// sizes. Throws for a network that this version does not build.
TrainingModel detector_step(const DetectorConfig& config, const PictureSize& trained,
                            const PictureSize& predicted, int processes);
// One size for both.
TrainingModel detector_step(const DetectorConfig& config, const PictureSize& size,
                            int processes = 1);

}  // namespace lockstep
