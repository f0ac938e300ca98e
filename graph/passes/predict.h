// Graphs that predict, from the inference graph of a training model.
#pragma once

#include <string>
#include <vector>

#include "graph/io.h"
#include "graph/training.h"

namespace lockstep {

// The inference graph once for each replica, each with its own state, so that all predict side by
// side.
struct Predictors {
  Graph graph;
  std::vector<Replicated> inputs, outputs;
};
Predictors predict_on_every_replica(const TrainingModel& model);

// The inference graph with its state as constants, which are called as the state is, without a
// replica's scope: a model that needs nothing but its inputs. `values` by that name; throws for one
// that is missing or of another shape. Keeps the metadata.
TrainingModel with_trained_values(const TrainingModel& model, const StateValues& values);

}  // namespace lockstep
