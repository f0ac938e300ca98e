// SPDX-License-Identifier: Apache-2.0
// Softmax, LogSoftmax: gradients from the output, along the same axis.
//   SoftmaxGrad    (dy, y) -> y * (dy - sum(dy * y))
//   LogSoftmaxGrad (dy, y) -> dy - exp(y) * sum(dy)
// SoftmaxCrossEntropyLoss has a second output, the logarithms of the probabilities; backward is
//   SoftmaxCrossEntropyLossGrad (dloss, log_prob, labels, weights) -> dscores
//     = dloss * weight[label] / total * (exp(log_prob) - onehot(label)), 0 for ignored labels
//   (total: the sum of all labels' weights; if it is 0, the mean is 0 instead of 0 / 0)
// NegativeLogLikelihoodLoss is the same loss without the softmax; backward is
//   NegativeLogLikelihoodLossGrad (dloss, shape of x, labels, weights) -> dx
#include "operators/loss/loss.h"

#include "lockstep/operators.h"
#include "operators/kit/flops.h"
#include "operators/kit/operator_helpers.h"
#include "operators/loss/focal.h"

namespace lockstep {
namespace {

std::vector<Value> softmax_gradient(const GradientRequest& r) {
  auto attributes = r.node.attributes();
  return {r.graph.add_value({.type = r.node.type() + "Grad",
                             .domain = kOwnDomain,
                             .inputs = {r.dy[0], r.y(0)},
                             .attributes = {{"axis", attributes.integer("axis", -1)}}},
                            gradient_site(r, 0))};
}

Attributes written(const CrossEntropyAttrs& attrs) {
  Attributes attributes{{"reduction", attrs.reduction}};
  if (attrs.ignores) attributes.push_back({"ignore_index", attrs.ignore_index});
  return attributes;
}

std::vector<Value> cross_entropy_gradient(const GradientRequest& r) {
  std::vector<Value> dx(3);
  if (!r.wanted[0]) return dx;
  Site site = gradient_site(r, 0);
  const bool has_log = r.node.outputs().size() > 1 && r.node.outputs()[1];
  Value log_prob = has_log ? r.y(1) : log_softmax(r.graph, r.x(0), 1, site);
  if (r.dy[0])
    dx[0] = r.graph.add_value({.type = "SoftmaxCrossEntropyLossGrad",
                               .domain = kOwnDomain,
                               .inputs = {r.dy[0], log_prob, r.x(1), r.x(2)},
                               .attributes = written(read_cross_entropy(r.node.attributes()))},
                              site);
  if (r.dy.size() > 1 && r.dy[1]) {
    Value through_log = r.graph.add_value({.type = "LogSoftmaxGrad",
                                           .domain = kOwnDomain,
                                           .inputs = {r.dy[1], log_prob},
                                           .attributes = {{"axis", int64_t{1}}}},
                                          site);
    dx[0] = dx[0] ? add(r.graph, dx[0], through_log, site) : through_log;
  }
  check(r.wanted.size() < 3 || !r.wanted[2], r.node.description(),
        ": the class weights of a loss cannot be trained");
  return dx;
}

std::vector<Value> likelihood_gradient(const GradientRequest& r) {
  check(r.wanted.size() < 3 || !r.wanted[2], r.node.description(),
        ": the class weights of a loss cannot be trained");
  Site site = gradient_site(r, 0);
  return {r.graph.add_value({.type = "NegativeLogLikelihoodLossGrad",
                             .domain = kOwnDomain,
                             .inputs = {r.dy[0], shape_of(r.graph, r.x(0), site), r.x(1), r.x(2)},
                             .attributes = written(read_cross_entropy(r.node.attributes()))},
                            site),
          none, none};
}

// The shape of labels: the scores' shape without the classes.
Shape labelled(const Shape& scores) {
  check(scores.size() >= 2, "the scores are ", scores, ", should have at least 2 dimensions");
  Shape labels{scores[0]};
  labels.insert(labels.end(), scores.begin() + 2, scores.end());
  return labels;
}

// Checks ranks and the length of the weights, which ONNX does not check.
void cross_entropy_law(Inference& inference) {
  inference.require_ranked();
  CrossEntropyAttrs attrs = read_cross_entropy(inference.attributes);
  const Shape& scores = inference.input(0).shape;
  const Shape& labels = inference.input(1).shape;
  const Shape expected = labelled(scores);
  bool fits = labels.size() == expected.size();
  for (std::size_t i = 0; fits && i < labels.size(); ++i)
    fits = !labels[i].known() || !expected[i].known() || labels[i] == expected[i];
  check(fits, "labels are ", labels, ", should be ", expected);
  if (inference.inputs.size() > 2 && inference.inputs[2])
    check(inference.input(2).shape == Shape{scores[1]}, "weights are ", inference.input(2).shape,
          ", should be ", Shape{scores[1]});
  DType dtype = inference.input(0).dtype;
  inference.outputs[0] = {dtype, attrs.reduction == "none" ? expected : Shape{}};
  if (inference.outputs.size() > 1) inference.outputs[1] = inference.input(0);
}

// Checks operands 0, 2 and 3 of both gradients: dloss, labels and weights.
void check_loss_gradient(Inference& inference, const Shape& scores) {
  const Shape labels = labelled(scores);
  demand_shape(inference, 2, labels);
  demand_shape(inference, 3, {scores[1]});
  if (read_cross_entropy(inference.attributes).reduction == "none")
    demand_shape(inference, 0, labels);
  else
    demand_one_element(inference, 0);
}

void cross_entropy_grad_law(Inference& inference) {
  inference.require_ranked();
  demand_at_least_dims(inference, 1, 2);
  check_loss_gradient(inference, inference.input(1).shape);
  inference.outputs[0] = inference.input(1);
}

void likelihood_grad_law(Inference& inference) {
  shape_from_operand(inference);
  if (inference.outputs[0].ranked) check_loss_gradient(inference, inference.outputs[0].shape);
}

void softmax_grad_law(Inference& inference) {
  all_alike(inference);
  const TensorType& y = inference.outputs[0];
  if (y.ranked) normal_axes({inference.attributes.integer("axis", -1)}, y.shape.size());
}

}  // namespace

CrossEntropyAttrs read_cross_entropy(AttributeReader attributes) {
  CrossEntropyAttrs attrs;
  attrs.ignores = attributes.has("ignore_index");
  attrs.ignore_index = attributes.integer("ignore_index", 0);
  attrs.reduction = attributes.text("reduction", "mean");
  check(attrs.reduction == "mean" || attrs.reduction == "sum" || attrs.reduction == "none",
        "reduction is '", attrs.reduction, "', should be none, sum or mean");
  attributes.done();
  return attrs;
}

Value softmax(Graph& graph, Value x, int64_t axis, const Site& site) {
  return graph.add_value({.type = "Softmax", .inputs = {x}, .attributes = {{"axis", axis}}}, site);
}

Value log_softmax(Graph& graph, Value x, int64_t axis, const Site& site) {
  return graph.add_value({.type = "LogSoftmax", .inputs = {x}, .attributes = {{"axis", axis}}},
                         site);
}

Value softmax_cross_entropy(Graph& graph, Value scores, Value labels, Value weights,
                            const CrossEntropyAttrs& attrs, const Site& site) {
  return graph.add_value({.type = "SoftmaxCrossEntropyLoss",
                          .inputs = {scores, labels, weights},
                          .attributes = written(attrs),
                          .outputs = 2},
                         site);
}

namespace {

// The maximum, differences, exponentials, their sum, quotients.
constexpr int kOfSoftmax = 5;

// A sum of one number for each label.
Flops label_flops(const Node& node) { return {.others = elements_in(node, 1)}; }
Flops label_grad_flops(const Node& node) { return {.others = elements_in(node, 2)}; }

}  // namespace

std::vector<Op> loss_ops() {
  const std::vector<FormalAttribute> axis{{"axis", AttributeKind::integer}};
  std::vector<Op> ops{
      {.type = "Softmax",
       .domain = "",
       .differentiable = Differentiable::yes,
       .gradient = softmax_gradient,
       .flops = per_operand<kOfSoftmax>,
       .may_alias = {{0, 0}}},
      {.type = "LogSoftmax",
       .domain = "",
       .differentiable = Differentiable::yes,
       .gradient = softmax_gradient,
       .flops = per_operand<kOfSoftmax>,
       .may_alias = {{0, 0}}},
      {.type = "SoftmaxCrossEntropyLoss",
       .domain = "",
       .law = cross_entropy_law,
       .differentiable = Differentiable::yes,
       .gradient = cross_entropy_gradient,
       .flops = per_operand<kOfSoftmax>,
       .may_alias = {{1, 0}}},
      {.type = "NegativeLogLikelihoodLoss",
       .domain = "",
       .law = cross_entropy_law,
       .differentiable = Differentiable::yes,
       .gradient = likelihood_gradient,
       .flops = label_flops},
      {.type = "NegativeLogLikelihoodLossGrad",
       .domain = kOwnDomain,
       .no_body = kOnlyTrains,
       .signature =
           Signature{
               "Gradient of the loss with respect to the log-probabilities.",
               {{"dloss"}, {"shape", "I"}, {"labels", "I"}, {"weights", "T", Arity::optional}},
               {{"dx"}},
               {{"reduction", AttributeKind::text}, {"ignore_index", AttributeKind::integer}}},
       .law = likelihood_grad_law,
       .flops = label_grad_flops},
      {.type = "SoftmaxGrad",
       .domain = kOwnDomain,
       .no_body = kOnlyTrains,
       .signature = Signature{"dx = y * (dy - sum(dy * y))", {{"dy"}, {"y"}}, {{"dx"}}, axis},
       .law = softmax_grad_law,
       .flops = per_operand<4>,
       .may_alias = {{0, 0}, {0, 1}}},
      {.type = "LogSoftmaxGrad",
       .domain = kOwnDomain,
       .no_body = kOnlyTrains,
       .signature = Signature{"dx = dy - exp(y) * sum(dy)", {{"dy"}, {"y"}}, {{"dx"}}, axis},
       .law = softmax_grad_law,
       .flops = per_operand<4>,
       .may_alias = {{0, 0}, {0, 1}}},
      {.type = "SoftmaxCrossEntropyLossGrad",
       .domain = kOwnDomain,
       .no_body = kOnlyTrains,
       .signature =
           Signature{
               "Gradient of the loss with respect to the scores.",
               {{"dloss"}, {"log_prob"}, {"labels", "I"}, {"weights", "T", Arity::optional}},
               {{"dscores"}},
               {{"reduction", AttributeKind::text}, {"ignore_index", AttributeKind::integer}}},
       .law = cross_entropy_grad_law,
       .flops = per_result<3>,
       .may_alias = {{0, 1}}}};
  for (Op& op : focal_ops()) ops.push_back(std::move(op));
  return ops;
}

}  // namespace lockstep
