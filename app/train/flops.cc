// SPDX-License-Identifier: Apache-2.0
#include "app/train/flops.h"

#include "graph/passes/bind.h"
#include "lockstep/operators.h"
#include "runtime/plan/fold.h"

namespace lockstep {
namespace {

// Multiply-adds if each element of `value` is multiplied with a whole filter without its first
// axis.
int64_t filtered(const Graph& graph, Value value, Value filters) {
  const Dims dims = to_dims(graph.shape(filters));
  return element_count(to_dims(graph.shape(value))) * (element_count(dims) / dims.at(0));
}

int64_t product(const Node& node, std::size_t depth_axis) {
  const Graph& graph = node.graph();
  return element_count(to_dims(graph.shape(node.outputs()[0]))) *
         to_dims(graph.shape(node.inputs()[0])).at(depth_axis);
}

int64_t multiply_adds_of(const Node& node) {
  const Graph& graph = node.graph();
  if (node.type() == "Conv") return filtered(graph, node.outputs()[0], node.inputs()[1]);
  if (node.type() == "ConvTranspose") return filtered(graph, node.inputs()[0], node.inputs()[1]);
  if (node.type() == "Gemm") return product(node, node.attributes().integer("transA", 0) ? 0 : 1);
  if (node.type() == "MatMul") return product(node, graph.shape(node.inputs()[0]).size() - 1);
  return 0;
}

}  // namespace

int64_t parameter_values(const TrainingModel& model) {
  int64_t values = 0;
  for (const State& state : model.states)
    if (is_parameter(state.kind))
      values += element_count(to_dims(model.step.shape(model.step.at(state.values[0]))));
  return values;
}

std::optional<int64_t> multiply_adds(const TrainingModel& model, const Dims& picture) {
  const Graph& graph = model.inference;
  Dims one = picture;
  one.insert(one.begin(), 1);
  std::map<std::string, Dims> feeds;
  for (Value input : graph.inputs())
    if (!graph.literal(input) && !is_static(graph.shape(input))) feeds[graph.name(input)] = one;
  std::vector<std::string> outputs;
  for (Value output : graph.outputs()) outputs.push_back(graph.name(output));
  try {
    const Graph bound = bind_shapes(graph, feeds, outputs, folder_for(all_kernels()));
    int64_t sum = 0;
    for (int i = 0; i < bound.node_count(); ++i) sum += multiply_adds_of(bound.node(i));
    return sum;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace lockstep
