// SPDX-License-Identifier: Apache-2.0
// The network that the first word of `lockstep infer` names.
#pragma once

#include <optional>
#include <string>

#include "app/config/files.h"
#include "app/predict/infer_command.h"
#include "app/predict/trained_network.h"

namespace lockstep {

struct InferSource {
  std::string folder;   // of the run; "" of a file without its run
  std::string weights;  // .safetensors, or the model itself
  std::optional<ConfigFiles> config;
  std::optional<TrainingModel> model;  // what the file holds, if that is the source
};

// Of a model.onnx, a run's folder or a CONFIG.yaml, which means its newest run that fits. Throws
// for a source that does not hold or lead to a trained network.
InferSource source_of(const InferOptions& options);

TrainedNetwork classifier_of(const InferSource& source);
// A language model with its values; none if the source is another network.
std::optional<TrainingModel> language_model_of(InferSource& source);

}  // namespace lockstep
