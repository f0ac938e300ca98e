// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/fold.h"

#include <algorithm>

#include "graph/graph_members.h"
#include "graph/known.h"
#include "graph/onnx.h"
#include "graph/passes/prune.h"

namespace lockstep {
std::optional<std::vector<Literal>> folded(const Node& node, const Folder& folder) {
  const Graph& graph = node.graph();
  if (node.type() == "Constant" && node.domain().empty()) {
    auto attributes = node.attributes();
    if (attributes.has("value")) return {{attributes.literal("value")}};
  }
  if (node.type() == "Shape" && node.domain().empty()) {
    if (!is_static(graph.shape(node.inputs()[0]))) return std::nullopt;
    auto attributes = node.attributes();
    Dims dims = to_dims(graph.shape(node.inputs()[0]));
    int64_t rank = static_cast<int64_t>(dims.size());
    auto within = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
    int64_t start = within(attributes.integer("start", 0));
    int64_t end = std::max(start, within(attributes.integer("end", rank)));
    return {{Literal::vector({dims.begin() + start, dims.begin() + end})}};
  }
  if (node.type() == "Size" && node.domain().empty()) {
    const TensorType& type = graph.type(node.inputs()[0]);
    if (!type.ranked || !is_static(type.shape)) return std::nullopt;
    return {{Literal::scalar(element_count(to_dims(type.shape)))}};
  }
  const Op& op = *node.op();
  if (node.inputs().empty() || op.random || op.collective || op.exchange) return std::nullopt;
  for (Value input : node.inputs())
    if (input && !graph.literal(input)) return std::nullopt;
  return folder ? folder(node) : std::nullopt;
}

Graph fold_constants(const Graph& graph, const FoldOptions& options, const Folder& folder) {
  Graph result(graph.ops(), graph.name());
  for (Value input : graph.inputs()) {
    auto other = options.input_types.find(graph.name(input));
    result.input(graph.name(input),
                 other == options.input_types.end() ? graph.type(input) : other->second);
  }
  for (int id = 0; id < graph.value_count(); ++id)
    if (const Literal* literal = graph.literal({id}))
      if (!graph.producer({id})) result.constant(graph.name({id}), *literal);
  for (int index = 0; index < graph.node_count(); ++index) {
    Node node = adopt(result, proto_of(graph.node(index)));
    const bool from_kept =
        std::any_of(node.inputs().begin(), node.inputs().end(),
                    [&](Value input) { return input && options.kept.count(result.name(input)); });
    if (from_kept) continue;
    if (auto literals = folded(node, folder)) {
      for (std::size_t i = 0; i < literals->size(); ++i)
        result.fold(node.outputs()[i], std::move((*literals)[i]));
    } else if (Value output = node.outputs()[0]; output && result.content(output)) {
      // The content is known although an operand is not constant, such as a slice of the Shape of a
      // symbolic batch.
      auto known = literal_of(*result.content(output), result.type(output));
      if (known) result.fold(output, std::move(*known));
    }
  }
  for (Value output : graph.outputs()) result.output(result.at(graph.name(output)));
  std::vector<Value> outputs = result.outputs();
  prune(result, outputs);
  return result;
}

}  // namespace lockstep
