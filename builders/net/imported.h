// A network that came as an ONNX file, as a model function: build_data_parallel_model() makes a
// training step of it like of any other.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "builders/net/net.h"
#include "graph/io.h"

namespace lockstep {

struct ImportedOptions {
  // What becomes a parameter: see trainable_initializers(). Other initializers stay constants.
  std::set<std::string> trainable;
  // Parameters that are made anew, perhaps of another shape, by name.
  struct NewParam {
    Dims dims;
    Initializer initializer;
  };
  std::map<std::string, NewParam> renewed;
  // Also of the nodes whose training_mode is 0: some exporters can write nothing else.
  bool train_batch_norm = false;
};

// The layer that makes a network's scores [N, classes]: a Gemm, or a MatMul and an Add.
struct Classifier {
  std::string weight;
  std::string bias;            // "" when there is none
  std::size_t class_axis = 0;  // of the weight
  int64_t classes = 0;
};
// Throws, naming what makes the scores, when it is another operator.
Classifier find_classifier(const LoadedModel& file, const std::string& scores);

// Float initializers that get a gradient from `loss`, a value (or scores) of the file's graph. Not
// among them: running statistics, and names that match one of the `frozen` patterns (* and ?).
std::set<std::string> trainable_initializers(const LoadedModel& file, const std::string& loss,
                                             const std::vector<std::string>& frozen);

// Writes the file's network into a Net; answers with the value that the file calls by a name.
// BatchNormalization with training_mode 1 becomes BatchNormTrain, its running statistics state that
// each step renews; for prediction it and Dropout stop training.
using ImportedValues = std::function<Value(const std::string& name)>;
ImportedValues add_imported(Net& net, const LoadedModel& file, const ImportedOptions& options);

// The whole file as a model: its inputs, its loss, its outputs.
ModelFn imported_model(std::shared_ptr<const LoadedModel> file, const std::string& loss,
                       const ImportedOptions& options);

}  // namespace lockstep
