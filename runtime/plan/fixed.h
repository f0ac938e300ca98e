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

#include "runtime/plan/compile.h"

namespace lockstep {

// The next run finds `value` in `state` (runtime/kernel/rewrite.h).
struct KeptValue {
  Value state, value;
};

struct FixedPart {
  int nodes = 0;            // the first ones of the graph
  std::vector<Value> kept;  // in the graph's order
};

// `results`: values that others read after a run. `copies`: of states, that rewrites keep; their
// makers come first, too. A plan that is fed nothing has no fixed part but these: it runs once.
FixedPart put_fixed_part_first(Graph& bound, const CompileRequest& compile,
                               const std::vector<Value>& results,
                               const std::vector<KeptValue>& copies);

// All that decides which values a plan keeps, and where. Plans with equal identities find each
// other's values in their memory. Large constants are not compared: a plan with a large constant
// equals only itself.
struct KeptIdentity {
  struct Operand {
    std::string name;
    TensorDesc desc;
    int worker = 0;
    Lives lives = Lives::in_arena;
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

  friend bool operator==(const KeptIdentity& one, const KeptIdentity& other);
};
// Describes a finished plan.
std::shared_ptr<const KeptIdentity> kept_identity(const Plan& plan, const Graph& bound);

}  // namespace lockstep
