// SPDX-License-Identifier: Apache-2.0
// The trained network that the first word of `lockstep infer` names.
#pragma once

#include <optional>
#include <string>

#include "app/config/files.h"
#include "app/predict/infer.h"
#include "lockstep/training_model.h"

namespace lockstep {

struct TaskKind;

struct InferSource {
  const TaskKind* kind = nullptr;
  std::string folder;   // of the run; "" for a file without its run
  std::string weights;  // .safetensors, or the model itself
  std::optional<ConfigFiles> config = {};
  std::optional<TrainingModel> model = {};  // the file's content, if the source is a model
};

// Resolves a model.onnx, a run's folder, or a CONFIG.yaml, which means its newest run that
// fits. Throws if the source leads to no trained network, and for a task without inference.
InferSource source_of(const InferOptions& options);

}  // namespace lockstep
