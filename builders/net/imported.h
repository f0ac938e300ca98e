// SPDX-License-Identifier: Apache-2.0
// Parts of a network from an ONNX file: its classifier, its values in a Net.
#pragma once

#include <functional>
#include <string>

#include "lockstep/imported.h"

namespace lockstep {

// The layer that computes a network's scores [N, classes]: a Gemm, or a MatMul and an Add.
struct Classifier {
  std::string weight;
  std::string bias;            // "" if there is none
  std::size_t class_axis = 0;  // of the weight
  int64_t classes = 0;
};
// Throws, naming the operator that computes the scores, if it is another one.
Classifier find_classifier(const LoadedModel& file, const std::string& scores);

// Copies the file's network into a Net and returns its values by the file's names.
// BatchNormalization with training_mode 1 becomes BatchNormTrain, with running statistics as state
// that each step updates; for prediction it and Dropout run in inference mode, and regularisers
// that are written as arithmetic (regularisers.h) are left out.
using ImportedValues = std::function<Value(const std::string& name)>;
ImportedValues add_imported(Net& net, const LoadedModel& file, const ImportedOptions& options);

}  // namespace lockstep
