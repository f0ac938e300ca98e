// SPDX-License-Identifier: Apache-2.0
// Chooses the memory of each value: a state, a view of an operand, a dead operand's block, or a new
// block. Pass 7 of compile().
#pragma once

#include <vector>

#include "lockstep/op.h"
#include "runtime/plan/plan.h"

namespace lockstep {

struct StateUpdate {
  int state = 0;
  int slot = 0;
};

struct AliasRequest {
  const std::vector<const Op*>& ops;  // by node
  const std::vector<StateUpdate>& updates;
  int refreshing;  // the first n nodes; their steps become Plan::refresh
  bool alias;

  int nodes() const { return static_cast<int>(ops.size()); }
};

// Assigns memory to every slot and makes the blocks with their lifetimes. Drops the steps of views,
// moves refresh steps and moving views to separate lists, and appends a copy into a state if the
// new value is not computed in place.
void find_aliases(Plan& plan, const AliasRequest& request);

}  // namespace lockstep
