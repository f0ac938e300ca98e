// SPDX-License-Identifier: Apache-2.0
// The names that another framework gives to the parts of a model's step, so that both can be laid
// beside each other.
#pragma once

#include <string>
#include <vector>

#include "graph/training.h"

namespace lockstep {

// The words of `lockstep build --names`.
std::vector<std::string> step_name_sets();

// Gives nodes and values of the step `model` the names of their counterparts in the framework of
// `set`; without a counterpart a name stays. Nothing else changes. Throws for an unknown set, with
// the nearest one, and for a model without such names, with the models that have them. `network`:
// the model's name in models.h, or empty; `source`: the user's words for it, for errors.
TrainingModel with_step_names(const std::string& set, const std::string& network,
                              const std::string& source, TrainingModel model);

// models/resnet_keras_names.cc: as TensorFlow names the step of keras.applications' ResNet50.
TrainingModel with_keras_names(TrainingModel model);

}  // namespace lockstep
