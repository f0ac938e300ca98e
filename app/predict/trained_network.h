// SPDX-License-Identifier: Apache-2.0
// A trained network with its image preparation and classes: the contents of model.onnx.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/transform.h"
#include "graph/io.h"

namespace lockstep {

// A model's image preparation and classes, for TrainingModel::metadata.
std::map<std::string, std::string> picture_metadata(const Dataset& data);

struct TrainedNetwork {
  TrainingModel model;  // its inference graph with weights
  Preparation preparation;
  std::vector<std::string> classes;
};

// The files of a trained network: its values, and the step that holds its graph.
struct RunFiles {
  std::string weights;  // .safetensors
  std::string step;
};
// The network of a run with its values, whatever it predicts: from a checkpoint, or weights alone,
// and the step.onnx of their run.
TrainingModel network_with_values(const RunFiles& files);
// With its image preparation and classes. Throws, naming the missing part, for a model without
// them.
TrainedNetwork classifier_of(TrainingModel network, const std::string& path);
TrainedNetwork classifier_of(TrainingModel network, const RunFiles& files);

// The input that is fed, of a network with its values.
Value input_of(const Graph& inference);

// A single file of standard operators. `trained`: iterations and score, as JSON.
void save_trained(const TrainingModel& model, const StateValues& values, const std::string& trained,
                  const std::string& path);

}  // namespace lockstep
