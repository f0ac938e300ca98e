// SPDX-License-Identifier: Apache-2.0
// Decides where each value lives: in a state, as a view of an operand, over a dead operand, or in a
// block of its own. Pass 7 of compile().
#pragma once

#include <vector>

#include "graph/op.h"
#include "runtime/plan/plan.h"

namespace lockstep {

struct StateUpdate {
  int state = 0;
  int slot = 0;
};

struct AliasRequest {
  const std::vector<const Op*>& ops;  // by node
  const std::vector<StateUpdate>& updates;
  int refreshing;  // the first so many nodes, whose steps are Plan::refresh
  bool alias;

  int nodes() const { return static_cast<int>(ops.size()); }
};

// Places every slot, makes the blocks with their lifetimes, drops the steps of nodes that became
// views, sets those apart that refresh, and appends a copy into state if the new value could not be
// computed in place.
void find_aliases(Plan& plan, const AliasRequest& request);

}  // namespace lockstep
