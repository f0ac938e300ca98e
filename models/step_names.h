// SPDX-License-Identifier: Apache-2.0
// Renames a model's step to the names of another framework, so that the two can be compared side by
// side.
#pragma once

#include <string>
#include <vector>

#include "lockstep/training_model.h"

namespace lockstep {

// The sets of names for `lockstep build --names`.
std::vector<std::string> step_name_sets();

// Renames nodes and values of the step `model` to their counterparts in the framework of `set`. A
// node or value without a counterpart keeps its name. Nothing else changes. Throws for an unknown
// set, and for a model without names in this set. The errors list the known sets or models.
// `network` is the model's name in models.h, or empty. `source` is the name that the user gave, for
// errors.
TrainingModel with_step_names(const std::string& set, const std::string& network,
                              const std::string& source, TrainingModel model);

// Uses TensorFlow's names of a step of keras.applications' ResNet50 (models/resnet_keras_names.cc).
TrainingModel with_keras_names(TrainingModel model);

}  // namespace lockstep
