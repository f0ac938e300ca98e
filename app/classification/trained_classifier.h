// SPDX-License-Identifier: Apache-2.0
// A trained network with its image preparation and classes: the contents of a classifier's
// model.onnx.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/train/trained_network.h"
#include "data/dataset.h"
#include "data/transform.h"

namespace lockstep {

// A model's image preparation and classes, for TrainingModel::metadata.
std::map<std::string, std::string> picture_metadata(const Dataset& data);

struct TrainedClassifier {
  TrainingModel model;  // its inference graph with weights
  Preparation preparation;
  std::vector<std::string> classes;
};

// Throws, naming the missing part, for a model without image preparation or classes.
TrainedClassifier classifier_of(TrainingModel network, const std::string& path);
TrainedClassifier classifier_of(TrainingModel network, const RunFiles& files);

}  // namespace lockstep
