// Networks by name. A model is a function that writes into a Net; its options are a struct.
#pragma once

#include <string>
#include <vector>

#include "builders/net.h"

namespace lockstep {

struct ImageShape {
  int64_t channels = 1;
  int64_t height = 28;
  int64_t width = 28;
};

struct ClassifierOptions {
  ImageShape image;
  int64_t classes = 10;
  std::vector<int64_t> hidden = {256, 128};  // mlp only: width of each hidden layer
};

// LeCun's network in Caffe2's cut: two convolutions with max pooling, two fully connected layers.
ModelFn lenet(const ClassifierOptions& options = {});
// Fully connected layers with ReLU between.
ModelFn mlp(const ClassifierOptions& options = {});

// By the name that `lockstep build` takes; throws with the nearest name.
ModelFn model_named(const std::string& name, const ClassifierOptions& options);
std::vector<std::string> model_names();

}  // namespace lockstep
