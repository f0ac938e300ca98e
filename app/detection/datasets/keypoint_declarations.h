// SPDX-License-Identifier: Apache-2.0
// The keypoints of a data set as DATASETS declares them: DATASETS.NAME.KEYPOINT_SIGMAS, numbers by
// which keypoints are scored, and DATASETS.NAME.KEYPOINT_FLIPS, pairs of points that a mirrored
// picture swaps.
#pragma once

#include <string>

#include "app/detection/config/detector_config.h"
#include "data/coco/annotations.h"

namespace lockstep {

inline constexpr const char* kKeypointSigmas = "KEYPOINT_SIGMAS";
inline constexpr const char* kKeypointFlips = "KEYPOINT_FLIPS";

// Throws if a declaration is not a list of numbers above 0, or not a list of pairs. The error
// begins with the declaration's origin, as for the function below.
void check_keypoint_declarations(const DetectorConfig& config, const std::string& set);

// Replaces the sigmas and the pairs of a set's annotations by the declared ones. A point is given
// by its name, or by its number from 0.
void declare_keypoints(const DetectorConfig& config, const std::string& set, Annotations& table);

// If the network has a keypoint head, throws unless the categories with keypoints have
// KRCNN.NUM_KEYPOINTS, and in a set of TEST.DATASETS sigmas. Categories without keypoints are
// allowed. `names` are the sets, `key` is TRAIN.DATASETS or TEST.DATASETS.
void check_keypoints(const DetectorConfig& config, const Annotations& table,
                     const std::string& names, const std::string& key);

// If the network has a keypoint head, throws unless equal categories of both tables have equal
// names of points: a network's points are only numbers. Either may lack points.
void check_same_keypoints(const DetectorConfig& config, const Annotations& train,
                          const Annotations& test);

// The pairs of all categories, for checkpoints: "arrow: left_barb and right_barb, ..".
std::string text_of_all_pairs(const Annotations& table);

}  // namespace lockstep
