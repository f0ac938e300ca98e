// The names that another framework gives to the parts of a model's step, so that both can be laid
// beside each other.
#pragma once

#include <string>
#include <vector>

#include "graph/training.h"

namespace lockstep {

// The words of `lockstep build --names`.
std::vector<std::string> step_name_sets();

// The step of that model, each of its nodes and values under the name that its counterpart has in
// the framework; those without a counterpart keep theirs. Nothing else changes. Throws for an
// unknown set, with the nearest one, and for a model without such names, with the models that have
// them. `source`: the user's words for the model, for errors; `network`: its name in models.h, or
// empty.
TrainingModel with_step_names(const std::string& set, const std::string& network,
                              const std::string& source, TrainingModel model);

// models/resnet_keras_names.cc: as TensorFlow names the step of keras.applications' ResNet50.
TrainingModel with_keras_names(TrainingModel model);

}  // namespace lockstep
