// The states of a model and, in its init graph, their first values.
#pragma once

#include <vector>

#include "builders/initializers.h"
#include "graph/training.h"

namespace lockstep {

struct DrawnState {
  State state;
  Dims dims;
  Initializer initializer;
  int stream = 0;  // numbers the draws
};

// Replica 0 draws, the others get a copy. Beside the state come those that its training needs, one
// of each kind, called after it and their kind; every replica has zeros of its own in them.
void add_state(TrainingModel& model, const DrawnState& drawn, const std::vector<StateKind>& beside);

}  // namespace lockstep
