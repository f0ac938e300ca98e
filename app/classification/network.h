// SPDX-License-Identifier: Apache-2.0
// The training step of a configuration.
#pragma once

#include "app/classification/config.h"
#include "builders/net/bytes.h"
#include "data/dataset.h"
#include "graph/training.h"
#include "models/models.h"
#include "runtime/feeds.h"

namespace lockstep {

// How a step normalises bytes: as the preparation does floats.
ByteScale byte_scale_of(const Preparation& preparation);
// A built-in model with its published options whose images are fed as bytes: digits, or
// photographs as an image_folder has them.
ClassifierOptions published_for_bytes(const std::string& model);

DatasetOptions dataset_of(const ClassificationConfig& config, bool held_out);
int reading_threads(const ClassificationConfig& config);

// A model by name, or the network of MODEL.ONNX with a cross-entropy loss on its scores; for all
// replicas of so many processes.
TrainingModel build_configured_model(const ClassificationConfig& config, int processes = 1);
// The division of a batch into parts that go through the network together, for the run's number of
// replicas.
BatchShares shares_of(const ClassificationConfig& config, int64_t replicas);

}  // namespace lockstep
