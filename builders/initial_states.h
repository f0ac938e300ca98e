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

// To one replica of several: the first of them draws, the others get a copy. Beside the state come
// those that its training needs, one of each kind, called after it and their kind; every replica
// has zeros of its own in them.
void add_state(TrainingModel& one, const DrawnState& drawn, const std::vector<StateKind>& beside,
               int replicas);

}  // namespace lockstep
