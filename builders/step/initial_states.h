// SPDX-License-Identifier: Apache-2.0
// A model's states and, in its init graph, their initial values.
#pragma once

#include <string>
#include <vector>

#include "lockstep/net.h"
#include "lockstep/training_model.h"

namespace lockstep {

struct DrawnState {
  State state;
  Dims dims;
  Initializer initializer;
  int stream = 0;           // random stream
  std::string origin = {};  // the line that declares it, or "" for the builder's caller
};

// A state that belongs to another state and has the same size: w_momentum beside w.
struct BesideState {
  std::string name;
  StateKind kind;
  float first = 0;      // initial value of each element
  bool copies = false;  // true: starts as the other state's first value
};

// Adds the state to the graph of one replica. The first of `replicas` draws the initial value and
// the others get a copy. Every replica fills the states of `beside` itself.
void add_state(TrainingModel& one, const DrawnState& drawn, const std::vector<BesideState>& beside,
               int replicas);

}  // namespace lockstep
