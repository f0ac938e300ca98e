// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/kernel_requests.h"

#include <algorithm>

#include "graph/placement.h"

namespace lockstep {

int worker_of_value(const Graph& bound, Value value, const CompileRequest& compile) {
  return std::min(replica_of(bound, value, compile.owners),
                  static_cast<int>(compile.devices.size()) - 1);
}

KernelRequest request_of(const Node& node, const StepPlace& place, const CompileRequest& compile,
                         const std::function<Layout(Value)>& layout_of) {
  const Graph& graph = node.graph();
  KernelRequest request{.node = node,
                        .threads = place.threads,
                        .part = static_cast<int>(place.part),
                        .parts = static_cast<int>(place.replicas.size()),
                        .comm = compile.comm,
                        .device = place.device,
                        .tf32 = compile.options.tf32,
                        .exact = compile.options.exact};
  for (int replica : place.replicas) request.part_devices.push_back(compile.devices[replica]);
  auto desc = [&](Value value) {
    return value ? TensorDesc{graph.dtype(value), to_dims(graph.shape(value)), layout_of(value)}
                 : TensorDesc{};
  };
  auto memory = [&](Value value) {
    return value ? compile.devices[worker_of_value(graph, value, compile)] : place.device;
  };
  for (Value input : node.inputs()) {
    request.in.push_back(desc(input));
    request.constants.push_back(input ? graph.literal(input) : nullptr);
    request.operand_devices.push_back(memory(input));
  }
  for (Value output : node.outputs()) {
    request.out.push_back(desc(output));
    request.operand_devices.push_back(memory(output));
  }
  return request;
}

}  // namespace lockstep
