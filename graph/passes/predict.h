// SPDX-License-Identifier: Apache-2.0
// Prediction graphs, from the inference graph of a training model.
#pragma once

#include <string>
#include <vector>

#include "graph/io.h"
#include "graph/training.h"

namespace lockstep {

// The inference graph repeated for each replica, each with its own state, for parallel prediction.
struct Predictors {
  Graph graph;
  std::vector<Replicated> inputs, outputs;
};
Predictors predict_on_every_replica(const TrainingModel& model);

// The inference graph with its state as constants under the states' names, without a replica's
// scope: a model that needs only its inputs. `values` by that name; throws for one that is missing
// or of another shape. Keeps the metadata, but for the number of auxiliary devices: they sum.
TrainingModel with_trained_values(const TrainingModel& model, const StateValues& values);

}  // namespace lockstep
