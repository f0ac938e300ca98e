// SPDX-License-Identifier: Apache-2.0
#include "operators/optimizer/optimizer.h"

#include "operators/kit/flops.h"
#include "operators/kit/operator_helpers.h"
#include "operators/optimizer/rules.h"

namespace lockstep {
namespace {

void non_finite_law(Inference& inference) {
  for (std::size_t i = 1; i < inference.inputs.size(); ++i)
    demand_type(inference, i, inference.input(0).dtype);
  inference.outputs[0] = {DType::int64, {}};
}

Flops of_all_operands(const Node& node) {
  Flops flops;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) flops.others += elements_in(node, i);
  return flops;
}

}  // namespace

Value first_non_finite(Graph& graph, const std::vector<Value>& tensors, const Site& site) {
  return graph.add_value({.type = "FirstNonFinite", .domain = kOwnDomain, .inputs = tensors}, site);
}

std::vector<Op> optimizer_ops() {
  std::vector<Op> ops{{.type = "FirstNonFinite",
                       .domain = kOwnDomain,
                       .no_body = kOnlyTrains,
                       .signature = Signature{"The first operand with a NaN or an infinity, or -1.",
                                              {{"x", "T", Arity::variadic}},
                                              {{"number", "I"}}},
                       .law = non_finite_law,
                       .flops = of_all_operands}};
  for_each_update_rule([&]<class Rule>() {
    for (Op& op : update_ops<Rule>()) ops.push_back(std::move(op));
  });
  return ops;
}

}  // namespace lockstep
