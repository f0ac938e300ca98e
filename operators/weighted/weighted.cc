// SPDX-License-Identifier: Apache-2.0
#include "operators/weighted/weighted.h"

#include "lockstep/operators.h"
#include "operators/kit/flops.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {
namespace {

std::vector<Value> scale_gradient(const GradientRequest& r) {
  auto attributes = r.node.attributes();
  return {scale(r.graph, r.dy[0], attributes.number("scale", 1), gradient_site(r, 0))};
}

void weighted_sum_law(Inference& inference) {
  check(inference.inputs.size() % 2 == 0, "takes pairs of tensor and weight, got ",
        inference.inputs.size(), " inputs");
  for (std::size_t i = 0; i < inference.inputs.size(); i += 2) {
    check(inference.input(i) == inference.input(0), "term ", i / 2, " is ", inference.input(i),
          ", the first is ", inference.input(0));
    check(element_count(to_dims(inference.input(i + 1).shape)) == 1, "weight ", i / 2, " is ",
          inference.input(i + 1), ", should have one element");
    demand_type(inference, i + 1, inference.input(0).dtype);
  }
  inference.outputs[0] = inference.input(0);
}

std::vector<Value> scale_body(const BodyRequest& r) {
  const float factor = r.node.attributes().number("scale", 1);
  return {mul(r.graph, r.x(0), scalar_like(r.graph, r.x(0), factor, "scale"))};
}

// Reshapes each weight to a scalar: a weight [1] would make a scalar term a vector.
std::vector<Value> weighted_sum_body(const BodyRequest& r) {
  Value sum = none;
  for (std::size_t i = 0; i < r.operands.size(); i += 2) {
    const Value term = mul(r.graph, r.x(i), reshape(r.graph, r.x(i + 1), {}));
    sum = sum ? add(r.graph, sum, term) : term;
  }
  return {sum};
}

}  // namespace

Value scale(Graph& graph, Value x, float factor, const Site& site) {
  return graph.add_value(
      {.type = "Scale", .domain = kOwnDomain, .inputs = {x}, .attributes = {{"scale", factor}}},
      site);
}

Value weighted_sum(Graph& graph, const std::vector<std::pair<Value, Value>>& terms,
                   const Site& site) {
  std::vector<Value> inputs;
  for (auto [x, weight] : terms) inputs.insert(inputs.end(), {x, weight});
  return graph.add_value({.type = "WeightedSum", .domain = kOwnDomain, .inputs = inputs}, site);
}

namespace {

// A product and an addition for each term, which has a weight.
Flops per_result_of_terms(const Node& node) {
  return {.others = static_cast<double>(node.inputs().size()) * elements_out(node, 0)};
}

}  // namespace

std::vector<Op> weighted_ops() {
  return {{.type = "Scale",
           .domain = kOwnDomain,
           .body = scale_body,
           .signature =
               Signature{"y = scale * x", {{"x"}}, {{"y"}}, {{"scale", AttributeKind::number}}},
           .law = same_as_first,
           .differentiable = Differentiable::yes,
           .gradient = scale_gradient,
           .may_alias = {{0, 0}}},
          {.type = "WeightedSum",
           .domain = kOwnDomain,
           .body = weighted_sum_body,
           .signature = Signature{"y = x0 * w0 + x1 * w1 + ..; weights have one element.",
                                  {{"terms", "T", Arity::variadic}},
                                  {{"y"}}},
           .law = weighted_sum_law,
           .flops = per_result_of_terms,
           .may_alias = {{0, 0}}}};
}

}  // namespace lockstep
