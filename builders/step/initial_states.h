// The states of a model and, in its init graph, their first values.
#pragma once

#include <string>
#include <vector>

#include "builders/net/initializers.h"
#include "graph/training.h"

namespace lockstep {

struct DrawnState {
  State state;
  Dims dims;
  Initializer initializer;
  int stream = 0;           // numbers the draws
  std::string origin = {};  // the line that declares it, or "" for the builder's caller
};

// A state that training needs of another: w_momentum beside w. It has w's size.
struct BesideState {
  std::string name;
  StateKind kind;
  float first = 0;  // of each element
};

// To one replica of several: the first of them draws, the others get a copy. What stands beside the
// state every replica fills for itself.
void add_state(TrainingModel& one, const DrawnState& drawn, const std::vector<BesideState>& beside,
               int replicas);

}  // namespace lockstep
