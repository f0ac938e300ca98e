// SPDX-License-Identifier: Apache-2.0
// The data sets of a detector's configuration, by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/detection/config/detector_config.h"
#include "data/detection/picture_set.h"

namespace lockstep {

// Generated pictures. The seed is fixed, so that results can be compared.
inline constexpr const char* kScenesTrain = "scenes_train";
inline constexpr const char* kScenesVal = "scenes_val";

// Names that need no declaration: the generated pictures, then Detectron's data sets.
std::vector<std::string> names_of_sets(const char* generated);

// Throws for an incomplete declaration of a data set, or for an invalid name.
void check_declared_sets(const DetectorConfig& config);

// The annotation files of these data sets; generated pictures have none.
std::vector<std::string> annotation_files(const DetectorConfig& config,
                                          const std::vector<std::string>& names);

// Opens data sets and joins several (joined_pictures.h). A name is declared in DATASETS, generated
// (see above) or Detectron's. Reads only annotations, and checks MODEL.NUM_CLASSES against them.
// `key` is TRAIN.DATASETS or TEST.DATASETS; errors begin with its origin.
std::unique_ptr<PictureSet> open_pictures(const DetectorConfig& config,
                                          const std::vector<std::string>& names,
                                          const std::string& key);

}  // namespace lockstep
