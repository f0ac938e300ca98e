// SPDX-License-Identifier: Apache-2.0
// Replicas in one memory need not each have their own parameters: as all start equal and take the
// same gradients, one copy serves all, and each replica updates a part of it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "graph/training.h"

namespace lockstep {

// What is the same on all replicas before a step: lists of names, by replica.
struct InCommon {
  std::vector<std::vector<std::string>> states = {};
  std::vector<std::vector<std::string>> feeds = {};  // fed alike
};
InCommon in_common(const TrainingModel& model);

struct Shared {
  Graph graph;
  std::vector<Binding> updates;     // those that remain
  std::vector<std::size_t> states;  // of InCommon::states: those that are kept once, as their first
  std::string note;                 // for the plan; "" if nothing is shared
};

// Replaces states that a step keeps equal by the first one of each list, drops the nodes that were
// needed for the others, and deals out the updates, so that each replica has about as many bytes of
// them. `updates`: state := value; `fetched`: values that are read after a run, which stay.
Shared share_states(Graph bound, const InCommon& common, const std::vector<Binding>& updates,
                    const std::vector<std::string>& fetched);

}  // namespace lockstep
