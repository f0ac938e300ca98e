// SPDX-License-Identifier: Apache-2.0
// The part of a plan that has the same results in every run: what is made of constants and of
// states that the plan does not change. A prediction's parameters in 16 bits, or with a batch norm
// folded into them, are such. Its nodes come first in the plan's order and run only where others
// have changed these states (Plan::refresh); the plan keeps what its other nodes read of it. Pass 5
// of compile().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/training.h"
#include "runtime/plan/compile.h"

namespace lockstep {

struct FixedPart {
  int nodes = 0;            // the first ones of the graph
  std::vector<Value> kept;  // in the graph's order
};

// `results`: values that others read after a run. `copies`: of states, that rewrites keep
// (runtime/kernel/rewrite.h); their makers come first, too. A plan that is fed nothing has no fixed
// part but these: it runs once.
FixedPart put_fixed_part_first(Graph& bound, const CompileRequest& compile,
                               const std::vector<Value>& results,
                               const std::vector<Binding>& copies);

// Plan::refresh_text of a finished plan.
std::shared_ptr<const std::string> refresh_text(const Plan& plan, const Graph& bound);

}  // namespace lockstep
