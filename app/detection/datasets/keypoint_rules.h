// SPDX-License-Identifier: Apache-2.0
// Facts about the points of a detector's classes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/detection/config/detector_config.h"
#include "data/coco/annotations.h"
#include "lockstep/training_model.h"

namespace lockstep {

struct KeypointRules {
  // The points that change places in a mirrored picture, by class, class 1 first; no value for a
  // class whose objects have no points. An empty list, as in a file without metadata: every class
  // may have points, and none change places.
  std::vector<std::optional<KeypointPairs>> classes;
  std::vector<double> sigmas;  // of each point; empty if nobody declares them

  // True if objects of this class have points. A keypoint head has no channel for the class, so
  // this function alone decides.
  bool has_points(int64_t kind) const;
  const KeypointPairs& pairs(int64_t kind) const;
};

// The rules of a data set. Throws, naming the key, if the network cannot find the points of the
// set's classes, or if they cannot be scored.
KeypointRules keypoint_rules_of(const DetectorConfig& config, const Annotations& table);

// The text of the metadata `keypoint_rules`, and the rules in a network's file.
inline constexpr const char* kKeypointRules = "keypoint_rules";
std::string metadata_of(const KeypointRules& rules);
KeypointRules keypoint_rules_in(const TrainingModel& file);

// Throws, naming the key, if a test by the configuration needs facts that the rules lack: mirrored
// views of TEST.KPS_AUG the points that change places, KRCNN.NMS_OKS the sigmas. `source` is the
// file or run that the rules are from.
void check_rules_suffice(const DetectorConfig& config, const KeypointRules& rules,
                         const std::string& source);

}  // namespace lockstep
