// SPDX-License-Identifier: Apache-2.0
// A node's request to its device's kernels. Layouts and kernels are chosen with the same request,
// so that no layout is promised which the kernel cannot keep.
#pragma once

#include <functional>
#include <vector>

#include "runtime/plan/compile.h"

namespace lockstep {

// The place of a step.
struct StepPlace {
  std::vector<int> replicas;  // the participants: one, or those of a collective
  std::size_t part = 0;       // the index among them
  Device device = {};
  int threads = 1;
};

// `layout_of`: the layout of each value of the node's graph.
KernelRequest request_of(const Node& node, const StepPlace& place, const CompileRequest& compile,
                         const std::function<Layout(Value)>& layout_of);

// The replica's worker, whose memory holds the value.
int worker_of_value(const Graph& bound, Value value, const CompileRequest& compile);

}  // namespace lockstep
