// SPDX-License-Identifier: Apache-2.0
// A node's request to its device's kernels. The layout pass and the choice of kernels use the same
// request, so every promised layout is one that the kernel accepts.
#pragma once

#include <functional>
#include <vector>

#include "runtime/plan/compile.h"

namespace lockstep {

// The replicas and the device of a step.
struct StepPlace {
  std::vector<int> replicas;  // participants: one, or all replicas of a collective
  std::size_t part = 0;       // index into `replicas`
  Device device = {};
  int threads = 1;
};

// `layout_of`: the layout of each value of the node's graph.
KernelRequest request_of(const Node& node, const StepPlace& place, const CompileRequest& compile,
                         const std::function<Layout(Value)>& layout_of);

// Returns the worker of the value's replica; the value is in its memory.
int worker_of_value(const Graph& bound, Value value, const CompileRequest& compile);

}  // namespace lockstep
