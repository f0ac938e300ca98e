// SPDX-License-Identifier: Apache-2.0
// The training step of a configuration.
#pragma once

#include <string>
#include <vector>

#include "app/classification/config.h"
#include "app/weights/match.h"
#include "data/dataset.h"
#include "lockstep/data_parallel.h"
#include "lockstep/feeds.h"
#include "lockstep/imported.h"
#include "lockstep/models.h"
#include "lockstep/training_model.h"

namespace lockstep {

// The scale and shift with which a step normalises bytes, equal to the preparation of floats.
ByteScale byte_scale_of(const Preparation& preparation);
// The published options of a built-in model, for images fed as bytes: digits, or photographs as in
// an image_folder.
ClassifierOptions published_for_bytes(const std::string& model);

DatasetOptions dataset_of(const ClassificationConfig& config, bool held_out);
int reading_threads(const ClassificationConfig& config);

// Builds the model MODEL.TYPE, or the network of MODEL.ONNX with a cross-entropy loss on its
// scores, for the replicas of all processes. `notes` gets lines about the network of MODEL.ONNX.
// With `resident` the step takes pictures and labels from its devices.
TrainingModel build_configured_model(const ClassificationConfig& config, int processes = 1,
                                     std::vector<std::string>* notes = nullptr,
                                     const ResidentInputs& resident = {});
// The name of the step's input for pictures: a network of MODEL.ONNX chooses it.
std::string name_of_pictures(const ClassificationConfig& config);
// Options for MODEL.WEIGHTS.
WeightsOptions weights_to_start_from(const ClassificationConfig& config);
// The division of a batch over `replicas` and their micro-batches.
BatchShares shares_of(const ClassificationConfig& config, int64_t replicas);

}  // namespace lockstep
