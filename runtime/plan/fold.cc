// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/fold.h"

#include "graph/tensor_bytes.h"
#include "runtime/threads/float_mode.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostBytes = 64 * 1024;

}  // namespace

std::vector<Literal> run_node(const KernelTable& table, const Node& node,
                              const std::vector<const Literal*>& operands) {
  KernelRequest request{node, {}, {}, operands};
  std::vector<Literal> results;
  std::vector<Tensor> in, out;
  for (const Literal* operand : operands) {
    in.push_back(operand ? view_of(*operand) : Tensor{});
    request.in.push_back(in.back().desc);
  }
  for (Value output : node.outputs()) {
    const TensorType& type = node.graph().type(output);
    results.emplace_back(type.dtype, to_dims(type.shape));
    request.out.push_back({type.dtype, to_dims(type.shape)});
  }
  for (const Literal& result : results) out.push_back(view_of(result));
  auto kernel = table.choose(request).kernel;
  std::vector<std::byte> workspace(kernel->workspace_bytes());
  const FlushSubnormals flush;  // as in a step
  kernel->run({in, out, workspace.data(), RunContext{}});
  return results;
}

Folder folder_for(const std::vector<KernelTable>& tables) {
  const KernelTable* cpu = nullptr;
  for (const KernelTable& table : tables)
    if (table.kind() == DeviceKind::cpu) cpu = &table;
  return [cpu](const Node& node) -> std::optional<std::vector<Literal>> {
    if (!cpu || !cpu->has(node.domain(), node.type())) return std::nullopt;
    std::vector<const Literal*> operands;
    for (Value input : node.inputs())
      operands.push_back(input ? node.graph().literal(input) : nullptr);
    std::size_t bytes = 0;
    for (Value output : node.outputs()) {
      if (!output) return std::nullopt;
      const TensorType& type = node.graph().type(output);
      if (!type.ranked || !is_static(type.shape)) return std::nullopt;
      bytes += bytes_of(type);
    }
    if (bytes > kMostBytes) return std::nullopt;
    return run_node(*cpu, node, operands);
  };
}

}  // namespace lockstep
