// SPDX-License-Identifier: Apache-2.0
// The fixed part of a plan has the same results in every run: it depends only on constants and on
// states that the plan does not change. Examples are a prediction's parameters in 16 bits, or with
// a batch norm folded into them. The fixed nodes come first in the plan's order and run only after
// the states have changed (Plan::refresh). The plan keeps the results that other nodes read. Pass 5
// of compile().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/plan/compile.h"
#include "runtime/plan/plan.h"

namespace lockstep {

// The next run reads `value` from `state` (runtime/kernel/rewrite.h).
struct CachedValue {
  Value state, value;
};

struct CachedPart {
  int nodes = 0;            // the number of fixed nodes, the first of the graph
  std::vector<Value> kept;  // in the graph's order
};

// `results`: values that are read after a run. `copies`: copies of states that rewrites keep; their
// makers come first, too. A plan without feeds has only these: it runs once.
CachedPart put_cached_part_first(Graph& bound, const CompileRequest& compile,
                                 const std::vector<Value>& results,
                                 const std::vector<CachedValue>& copies);

// Everything that determines the values that a plan keeps and their offsets. Plans with equal
// identities can use each other's kept values. Large constants are not compared: a plan with a
// large constant equals only itself.
struct CacheIdentity {
  struct Operand {
    std::string name;
    TensorDesc desc;
    int worker = 0;
    Storage storage = Storage::in_arena;
    int index = -1;  // Slot::index; none for constants
    Literal constant = {};
    friend bool operator==(const Operand&, const Operand&) = default;
  };
  struct Step {
    std::string node, candidate;
    int worker = 0;
    std::vector<Operand> in, out;
    friend bool operator==(const Step&, const Step&) = default;
  };
  std::vector<Step> steps;  // Plan::refresh
  std::vector<std::size_t> offsets;
  bool has_large_constant = false;

  friend bool operator==(const CacheIdentity& one, const CacheIdentity& other);
};
// Describes a finished plan.
std::shared_ptr<const CacheIdentity> cache_identity(const Plan& plan, const Graph& bound);

}  // namespace lockstep
