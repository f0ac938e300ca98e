// SPDX-License-Identifier: Apache-2.0
// The slots for true objects in the inputs of a detector's training step.
#pragma once

#include "app/detection/config/detector_config.h"
#include "data/coco/annotations.h"
#include "data/detection/true_objects.h"

namespace lockstep {

// The slots of the configuration; none for parts that the network does not learn.
TruthPlaces truth_places(const DetectorConfig& config);

// As many slots as the fullest of these pictures needs.
TruthPlaces places_needed(const DetectorConfig& config, const Annotations& table);

// Unless they are set, fits TRAIN.TRUE_BOXES and TRAIN.VERTICES to the training pictures.
void fit_truth_places(DetectorConfig& config, const Annotations& training);

}  // namespace lockstep
