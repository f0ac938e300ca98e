// SPDX-License-Identifier: Apache-2.0
// The names of keypoints, in the metadata of a network's file.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "data/coco/annotations.h"
#include "lockstep/training_model.h"

namespace lockstep {

// The classes that have points, by name, with the names of their points.
using PointNames = std::vector<std::pair<std::string, std::vector<std::string>>>;

PointNames point_names_of(const Annotations& table);

// The text of the metadata `keypoints`, {class: [names]}, and the names that a network's metadata
// has: none in a file without such a text.
inline constexpr const char* kPointNames = "keypoints";
std::string metadata_of(const PointNames& names);
PointNames point_names_in(const TrainingModel& network);

}  // namespace lockstep
