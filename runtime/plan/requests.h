// The question that a node puts to its device's kernels. Layouts are decided by it and kernels are
// made by it: both ask the same, or one would be promised what the other cannot keep.
#pragma once

#include <functional>
#include <vector>

#include "runtime/plan/compile.h"

namespace lockstep {

// Where a node runs.
struct StepPlace {
  std::vector<int> replicas;  // that take part: one, or those of a collective
  std::size_t part = 0;       // which of them this is
  Device device = {};
  int threads = 1;
};

// `channel_block` says how a value of the node's graph lies.
KernelRequest request_of(const Node& node, const StepPlace& place, const CompileRequest& compile,
                         const std::function<int(Value)>& channel_block);

// Whose memory a value lies in: its replica's.
int worker_of_value(const Graph& bound, Value value, const CompileRequest& compile);

}  // namespace lockstep
