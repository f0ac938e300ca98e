// SPDX-License-Identifier: Apache-2.0
// Prediction graphs, from the inference graph of a training model.
#pragma once

#include <string>
#include <vector>

#include "lockstep/model_files.h"
#include "lockstep/training_model.h"

namespace lockstep {

// The inference graph repeated for each replica, each with its own state, for parallel prediction.
struct Predictors {
  Graph graph;
  std::vector<Replicated> inputs, outputs;
};
enum class Reads {
  as_built,    // the averages of parameters, if the inference graph reads averages
  parameters,  // never averages
};
Predictors predict_on_every_replica(const TrainingModel& model, Reads reads = Reads::as_built);

// The names of all replicas' values, item by item.
std::vector<std::string> values_of(const std::vector<Replicated>& items);

}  // namespace lockstep
