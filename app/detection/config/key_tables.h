// SPDX-License-Identifier: Apache-2.0
// The tables of a detector's keys, a file for each group of sections.
#pragma once

#include <string>
#include <vector>

#include "app/detection/config/detector_config.h"

namespace lockstep {

ConfigKeys detector_network_keys(DetectorOptions& network);  // MODEL RPN FPN RESNETS ..
ConfigKeys detector_head_keys(DetectorOptions& network);     // FAST_RCNN MRCNN KRCNN RETINANET RFCN
ConfigKeys detector_training_keys(DetectorConfig& config);   // TRAIN DATA_LOADER
ConfigKeys detector_testing_keys(DetectorConfig& config);    // TEST
ConfigKeys detector_run_keys(DetectorConfig& config);        // keys without a section, and CLUSTER
ConfigKeys detector_data_keys(DetectorConfig& config);       // DATASETS DATA_DIR SCENES

// IMAGE, capacities, SOLVER, and the tables of the run and of the step.
ConfigKeys own_detector_keys(DetectorConfig& config);

// Bounds counts: larger numbers overflow when multiplied; memory runs out long before.
inline constexpr double kMostOfThings = 1 << 24;

// Bounds fractions, overlaps and probabilities.
inline constexpr double kLeastShare = 1e-6;  // where 0 has no meaning
inline KeyFacts share() { return {.least = 0, .most = 1}; }
inline KeyFacts at_least(double least) { return {.least = least, .most = kMostOfThings}; }
// Facts of a Detectron key without a meaning here.
inline KeyFacts unused_key() {
  KeyFacts facts;
  facts.unused = true;
  return facts;
}
// Likewise of a number of at least 0.
inline KeyFacts unused_number() {
  KeyFacts facts = unused_key();
  facts.least = 0;
  return facts;
}

}  // namespace lockstep
