// SPDX-License-Identifier: Apache-2.0
#include "app/train/flops.h"

#include <cmath>

#include "graph/flops.h"
#include "graph/passes/bind.h"
#include "lockstep/operators.h"
#include "runtime/plan/fold.h"

namespace lockstep {
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
    double products = 0;
    for (int i = 0; i < bound.node_count(); ++i) {
      const Node node = bound.node(i);
      if (node.op() && node.op()->flops) products += node.op()->flops(node).products;
    }
    if (!(products < 0x1p63)) return std::nullopt;  // not a number if a shape is unknown
    return std::llround(products / 2);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace lockstep
