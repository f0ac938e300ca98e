// The training step that a configuration describes.
#pragma once

#include "data/dataset.h"
#include "graph/training.h"
#include "tools/train/config.h"

namespace lockstep {

DatasetOptions dataset_of(const TrainConfig& config, bool held_out);

// A model by name, or the network of MODEL.ONNX with a cross-entropy loss on its scores.
TrainingModel build_configured_model(const TrainConfig& config);

}  // namespace lockstep
