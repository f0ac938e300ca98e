// SPDX-License-Identifier: Apache-2.0
// InstanceNormalization: mean and variance of each plane, scale and bias by channel.
// LayerNormalization: mean and variance over the last axes, scale and bias by position (not
// broadcast, as ONNX allows). LRN: x / (bias + alpha / size * sum of squares over neighbouring
// channels) ^ beta.
//   InstanceNormGrad (dy, x, scale) -> dx, dscale, dbias
//   LayerNormGrad    (dy, x, scale) -> dx, dscale, dbias
//   LrnGrad          (dy, x) -> dx
#include "operators/norm/norm.h"

#include "lockstep/operators.h"
#include "operators/kit/flops.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {
namespace {

// The number of elements; -1 if not known yet. A double represents it without overflow.
double count_of(const Shape& shape) {
  double count = 1;
  for (const Dim& dim : shape) {
    if (!dim.known()) return -1;
    count *= static_cast<double>(dim.size());
  }
  return count;
}

// Checks that operand `i`, scale or bias, if present, has as many elements as the shape `each`.
void check_affine(const Inference& inference, std::size_t i, const char* what, const Shape& each) {
  if (i >= inference.inputs.size() || !inference.inputs[i]) return;
  const TensorType& operand = inference.input(i);
  const double expected = count_of(each), count = operand.ranked ? count_of(operand.shape) : -1;
  check(expected < 0 || count < 0 || count == expected, what, " is ", operand, ", should have ",
        expected, " elements");
}

// The shape of the scale for x's planes: the number of channels.
Shape channels_of(const TensorType& x) {
  check(x.shape.size() >= 2, "normalises planes of [N, C, ..], not ", x);
  return {x.shape[1]};
}

// The first normalised axis of x.
std::size_t first_axis(Inference& inference, const TensorType& x) {
  return normal_axes({inference.attributes.integer("axis", -1)}, x.shape.size())[0];
}

void instance_norm_law(Inference& inference) {
  inference.require_ranked();
  same_as_first(inference);
  const Shape each = channels_of(inference.input(0));
  check_affine(inference, 1, "scale", each);
  check_affine(inference, 2, "bias", each);
}

void lrn_law(Inference& inference) {
  inference.require_ranked();
  all_alike(inference);
  check(inference.input(0).shape.size() >= 2, "normalises channels of [N, C, ..], not ",
        inference.input(0));
  const int64_t size = inference.attributes.integer("size", 1);
  check(size >= 1, "size is ", size, ", should be 1 or more");
}

void layer_norm_law(Inference& inference) {
  inference.require_ranked();
  const TensorType& x = inference.input(0);
  const std::size_t axis = first_axis(inference, x);
  const Shape each(x.shape.begin() + static_cast<std::ptrdiff_t>(axis), x.shape.end());
  check_affine(inference, 1, "scale", each);
  check_affine(inference, 2, "bias", each);
  TensorType statistics{DType::float32, x.shape};
  for (std::size_t i = axis; i < x.shape.size(); ++i) statistics.shape[i] = 1;
  inference.outputs[0] = x;
  for (std::size_t i = 1; i < inference.outputs.size(); ++i) inference.outputs[i] = statistics;
}

// Checks and types a gradient with operands dy, x and scale.
void row_gradients(Inference& inference, const Shape& each) {
  demand_alike(inference, {0, 1});
  check_affine(inference, 2, "scale", each);
  inference.outputs[0] = inference.input(1);
  inference.outputs[1] = inference.outputs[2] = inference.input(2);
}

void instance_norm_grad_law(Inference& inference) {
  inference.require_ranked();
  row_gradients(inference, channels_of(inference.input(1)));
}

void layer_norm_grad_law(Inference& inference) {
  inference.require_ranked();
  const TensorType& x = inference.input(1);
  const std::size_t axis = first_axis(inference, x);
  row_gradients(inference, {x.shape.begin() + static_cast<std::ptrdiff_t>(axis), x.shape.end()});
}

std::vector<Value> row_gradient(const GradientRequest& r, const char* type, Attributes attributes) {
  Node node = r.graph.add({.type = type,
                           .domain = kOwnDomain,
                           .inputs = {r.dy[0], r.x(0), r.x(1)},
                           .attributes = std::move(attributes),
                           .outputs = 3},
                          gradient_site(r, 0));
  return {node.outputs()[0], node.outputs()[1], node.outputs()[2]};
}

std::vector<Value> instance_norm_gradient(const GradientRequest& r) {
  AttributeReader reader = r.node.attributes();
  return row_gradient(r, "InstanceNormGrad", {{"epsilon", reader.number("epsilon", 1e-5F)}});
}

std::vector<Value> layer_norm_gradient(const GradientRequest& r) {
  for (std::size_t i = 1; i < r.dy.size(); ++i)
    check(!r.dy[i], r.node.description(), ": its mean and deviation have no gradient");
  AttributeReader reader = r.node.attributes();
  return row_gradient(
      r, "LayerNormGrad",
      {{"axis", reader.integer("axis", -1)}, {"epsilon", reader.number("epsilon", 1e-5F)}});
}

std::vector<Value> lrn_gradient(const GradientRequest& r) {
  AttributeReader reader = r.node.attributes();
  return {r.graph.add_value({.type = "LrnGrad",
                             .domain = kOwnDomain,
                             .inputs = {r.dy[0], r.x(0)},
                             .attributes = {{"alpha", reader.number("alpha", 1e-4F)},
                                            {"beta", reader.number("beta", 0.75F)},
                                            {"bias", reader.number("bias", 1)},
                                            {"size", reader.integer("size", 1)}}},
                            gradient_site(r, 0))};
}

Op forward(const char* type, ShapeLaw law, GradientRule gradient, FlopRule flops) {
  return {.type = type,
          .domain = "",
          .law = law,
          .differentiable = Differentiable::yes,
          .gradient = gradient,
          .flops = flops};
}

// Statistics take three operations for each element, (x - mean) / deviation two, scale and bias
// two. The gradient takes two for the normalised x again, three for the gradients of scale and
// bias, four for two means of the scaled dy, four for dx.
constexpr int kOfNorm = 7, kOfNormGrad = 13;

// Squares of `size` neighbouring channels and their sum, then a sum, a power and a product. The
// gradient has two such sums and as many others.
template <int times>
Flops lrn_flops(const Node& node) {
  AttributeReader attributes = node.attributes();
  const double each = 2 * static_cast<double>(attributes.integer("size", 1)) + 4;
  return {.others = times * each * elements_out(node, 0)};
}

Op backward(const char* type, std::vector<FormalAttribute> attributes, ShapeLaw law) {
  return {.type = type,
          .domain = kOwnDomain,
          .no_body = kOnlyTrains,
          .signature = Signature{"Gradients of a normalisation with statistics of each example.",
                                 {{"dy"}, {"x"}, {"scale"}},
                                 {{"dx"}, {"dscale"}, {"dbias"}},
                                 std::move(attributes)},
          .law = law,
          .flops = per_operand<kOfNormGrad>};
}

}  // namespace

Value group_norm(Graph& graph, Value x, Value scale, Value bias, const GroupNormAttrs& attrs,
                 const Site& site) {
  const std::string name = site.name.empty() ? "group_norm" : site.name;
  auto part = [&](const char* what) { return Site(name + what, site.where); };
  const std::vector<float> ones(attrs.groups, 1), zeros(ones.size(), 0);
  Value one = graph.constant(name + "_one", Literal::of<float>(ones, {attrs.groups}));
  Value zero = graph.constant(name + "_zero", Literal::of<float>(zeros, {attrs.groups}));
  Value groups = reshape(graph, x, {0, attrs.groups, -1}, part("_groups"));
  Value normal = graph.add_value({.type = "InstanceNormalization",
                                  .inputs = {groups, one, zero},
                                  .attributes = {{"epsilon", attrs.epsilon}}},
                                 part("_normal"));
  Value back = reshape_like(graph, normal, x, part("_back"));
  std::vector<int64_t> channel(graph.shape(x).size() - 1, 1);
  channel[0] = -1;
  Value slope = reshape(graph, scale, channel, part("_slope"));
  Value offset = reshape(graph, bias, channel, part("_offset"));
  return add(graph, mul(graph, back, slope, part("_scaled")), offset, site);
}

Value layer_norm(Graph& graph, Value x, Value scale, Value bias, int64_t axis, float epsilon,
                 const Site& site) {
  return graph.add_value({.type = "LayerNormalization",
                          .inputs = {x, scale, bias},
                          .attributes = {{"axis", axis}, {"epsilon", epsilon}}},
                         site);
}

bool sums_over_places(const Node& node) {
  if (node.type() == "InstanceNormalization") return true;
  if (node.type() != "LayerNormalization") return false;
  const auto rank = static_cast<int64_t>(node.graph().shape(node.inputs()[0]).size());
  AttributeReader attributes = node.attributes();
  const int64_t axis = attributes.integer("axis", -1);
  return rank - (axis < 0 ? axis + rank : axis) > 1;  // one axis: the channels of a position
}

std::vector<Op> norm_ops() {
  return {
      forward("InstanceNormalization", instance_norm_law, instance_norm_gradient,
              per_operand<kOfNorm>),
      forward("LayerNormalization", layer_norm_law, layer_norm_gradient, per_operand<kOfNorm>),
      forward("LRN", lrn_law, lrn_gradient, lrn_flops<1>),
      backward("InstanceNormGrad", {{"epsilon", AttributeKind::number}}, instance_norm_grad_law),
      backward("LayerNormGrad",
               {{"axis", AttributeKind::integer}, {"epsilon", AttributeKind::number}},
               layer_norm_grad_law),
      {.type = "LrnGrad",
       .domain = kOwnDomain,
       .no_body = kOnlyTrains,
       .signature = Signature{"Gradient of LRN.",
                              {{"dy"}, {"x"}},
                              {{"dx"}},
                              {{"alpha", AttributeKind::number},
                               {"beta", AttributeKind::number},
                               {"bias", AttributeKind::number},
                               {"size", AttributeKind::integer, true}}},
       .law = lrn_law,
       .flops = lrn_flops<2>}};
}

}  // namespace lockstep
