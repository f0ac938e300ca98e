// SPDX-License-Identifier: Apache-2.0
// Sharing of states: replicas in one memory need not each have parameters. All replicas start equal
// and use the same gradients, so one copy serves all, and each replica updates a part of it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "lockstep/training_model.h"

namespace lockstep {

// Values that are equal on all replicas before a step: lists of names, by replica.
struct InCommon {
  std::vector<std::vector<std::string>> states = {};
  std::vector<std::vector<std::string>> feeds = {};  // fed with equal values
};
InCommon in_common(const TrainingModel& model);

struct Shared {
  Graph graph;
  std::vector<Binding> updates;     // the remaining updates
  std::vector<std::size_t> states;  // indices into InCommon::states of shared states, stored as the
                                    // first of their list
  std::string note;                 // for the plan; "" if nothing is shared
};

// Replaces states that a step keeps equal by the first state of their list, and drops the nodes
// that only the other states needed. Deals out the updates, so that each replica updates about as
// many bytes. `updates`: state := value. `fetched`: values that are read after a run, which stay.
Shared share_states(Graph bound, const InCommon& common, const std::vector<Binding>& updates,
                    const std::vector<std::string>& fetched);

}  // namespace lockstep
