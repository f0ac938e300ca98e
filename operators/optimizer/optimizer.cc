#include "operators/optimizer/optimizer.h"

#include "operators/room.h"

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
  }
  inference.outputs[0] = inference.input(0);
}

void momentum_law(Inference& inference) {
  const TensorType& gradient = inference.input(0);
  check(inference.input(1) == gradient && inference.input(3) == gradient, "gradient is ", gradient,
        ", momentum ", inference.input(1), ", parameter ", inference.input(3));
  check(element_count(to_dims(inference.input(2).shape)) == 1, "the rate is ", inference.input(2),
        ", should have one element");
  for (std::size_t i : {4, 5})
    check(inference.inputs.size() <= i || !inference.inputs[i] ||
              element_count(to_dims(inference.input(i).shape)) == 1,
          "operand ", i, " should have one element");
  for (TensorType& output : inference.outputs) output = gradient;
}

void updates_law(Inference& inference) {
  const std::size_t n = inference.outputs.size() / 2;
  check(inference.inputs.size() > 3 * n, "takes a rate behind ", n, " momenta, ", n,
        " parameters and as many gradients");
  for (std::size_t i = 0; i < 2 * n; ++i) {
    check(inference.input(i) == inference.input(2 * n + i % n), "operand ", i, " is ",
          inference.input(i), ", its gradient ", inference.input(2 * n + i % n));
    inference.outputs[i] = inference.input(i);
  }
}

void non_finite_law(Inference& inference) { inference.outputs[0] = {DType::int64, {}}; }

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

MomentumUpdate momentum_sgd(Graph& graph, const MomentumOperands& operands,
                            const MomentumAttrs& attrs, const std::vector<std::string>& names,
                            const Site& site) {
  Attributes attributes{{"momentum", attrs.momentum}};
  if (attrs.nesterov) attributes.push_back({"nesterov", int64_t{1}});
  Node node = graph.add({.type = "MomentumSGDUpdate",
                         .domain = kOwnDomain,
                         .inputs = {operands.gradient, operands.momentum, operands.rate,
                                    operands.param, operands.correction, operands.unless},
                         .attributes = attributes,
                         .outputs = 3,
                         .output_names = names},
                        site);
  return {node.outputs()[0], node.outputs()[1], node.outputs()[2]};
}

UpdatesAttrs read_updates(AttributeReader attributes) {
  UpdatesAttrs attrs;
  attrs.momentum = {attributes.number("momentum", 0), attributes.integer("nesterov", 0) != 0};
  attrs.factors = attributes.numbers("factors");
  attrs.decays = attributes.numbers("decays");
  return attrs;
}

Value first_non_finite(Graph& graph, const std::vector<Value>& tensors, const Site& site) {
  return graph.add_value({.type = "FirstNonFinite", .domain = kOwnDomain, .inputs = tensors}, site);
}

std::vector<Op> optimizer_ops() {
  return {{.type = "Scale",
           .domain = kOwnDomain,
           .signature =
               Signature{"y = scale * x", {{"x"}}, {{"y"}}, {{"scale", AttributeKind::number}}},
           .law = same_as_first,
           .differentiable = Differentiable::yes,
           .gradient = scale_gradient,
           .may_alias = {{0, 0}}},
          {.type = "WeightedSum",
           .domain = kOwnDomain,
           .signature = Signature{"y = x0 * w0 + x1 * w1 + ..; weights have one element.",
                                  {{"terms", "T", Arity::variadic}},
                                  {{"y"}}},
           .law = weighted_sum_law,
           .may_alias = {{0, 0}}},
          {.type = "MomentumSGDUpdate",
           .domain = kOwnDomain,
           .signature = Signature{"v' = momentum * v + rate * g; param' = param - v'",
                                  {{"gradient"},
                                   {"momentum"},
                                   {"rate"},
                                   {"param"},
                                   {"correction", "T", Arity::optional},
                                   {"unless", "I", Arity::optional}},
                                  {{"step"}, {"new_momentum"}, {"new_param"}},
                                  {{"momentum", AttributeKind::number},
                                   {"nesterov", AttributeKind::integer}}},
           .law = momentum_law,
           .may_alias = {{0, 0}, {1, 1}, {2, 3}}},
          {.type = "MomentumSGDUpdates",
           .domain = kOwnDomain,
           .signature = Signature{"MomentumSGDUpdate of many parameters; in plans only.",
                                  {{"operands", "T", Arity::variadic}},
                                  {{"results", "T", Arity::variadic}},
                                  {{"momentum", AttributeKind::number},
                                   {"nesterov", AttributeKind::integer},
                                   {"factors", AttributeKind::numbers},
                                   {"decays", AttributeKind::numbers}}},
           .law = updates_law,
           .alias_in_pairs = true},
          {.type = "FirstNonFinite",
           .domain = kOwnDomain,
           .signature = Signature{"The first operand with a NaN or an infinity, or -1.",
                                  {{"x", "T", Arity::variadic}},
                                  {{"number", "I"}}},
           .law = non_finite_law}};
}

}  // namespace lockstep
