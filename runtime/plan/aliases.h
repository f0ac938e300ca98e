// Where each value lives: in a state, as a view of an operand, over an operand that dies, or in a
// block of its own. Pass 5 of compile().
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
  const std::vector<const Op*>& ops;  // of each node
  const std::vector<StateUpdate>& updates;
  int nodes;
  bool alias;
};

// Decides where every slot lives, makes the blocks with their lifetimes, drops the steps of
// nodes that became views, and appends a copy into state where the new value could not be computed
// in place.
void find_aliases(Plan& plan, const AliasRequest& request);

}  // namespace lockstep
