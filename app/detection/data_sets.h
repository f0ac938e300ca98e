// SPDX-License-Identifier: Apache-2.0
// The data sets of a detector's configuration, by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/detection/detector_config.h"
#include "data/detection/picture_set.h"

namespace lockstep {

// Generated pictures. Their seed is always the same, so that results can be compared.
inline constexpr const char* kScenesTrain = "scenes_train";
inline constexpr const char* kScenesVal = "scenes_val";

// The names that need no declaration: the generated pictures, then Detectron's.
std::vector<std::string> names_of_sets(const char* generated);

// Throws for a data set that is declared by half, or under a name that cannot be one.
void check_declared_sets(const DetectorConfig& config);

// The annotations that sets of those names are read from; none of generated pictures.
std::vector<std::string> annotation_files(const DetectorConfig& config,
                                          const std::vector<std::string>& names);

// Several names are joined (joined_pictures.h). A name is one of DATASETS, one of the two above, or
// one of Detectron's. Reads annotations only, and checks that MODEL.NUM_CLASSES fits them. `key`
// has the names, TRAIN.DATASETS or TEST.DATASETS: errors begin with its place.
std::unique_ptr<PictureSet> open_pictures(const DetectorConfig& config,
                                          const std::vector<std::string>& names,
                                          const std::string& key);

}  // namespace lockstep
