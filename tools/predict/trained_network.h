// A network that was trained, with what a picture goes through before it and what its answers mean:
// the contents of model.onnx.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/transform.h"
#include "graph/io.h"

namespace lockstep {

// What a model says of pictures, for TrainingModel::metadata.
std::map<std::string, std::string> picture_metadata(const Dataset& data);

struct TrainedNetwork {
  TrainingModel model;  // its inference graph, weights and all
  Preparation preparation;
  std::vector<std::string> classes;
};

// Reads model.onnx. Throws, naming what is missing, for a model that does not say how pictures are
// prepared for it, or that is no trained network.
TrainedNetwork load_trained(const std::string& path);
// From a checkpoint, or weights alone, with the step.onnx of the run they come from.
TrainedNetwork trained_from(const std::string& weights, const std::string& step);

// A single file in standard operators. `trained`: when and how well, as JSON.
void save_trained(const TrainingModel& model, const StateValues& values, const std::string& trained,
                  const std::string& path);
void save_trained(const TrainedNetwork& network, const std::string& path);

}  // namespace lockstep
