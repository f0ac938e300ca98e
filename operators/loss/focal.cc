// SPDX-License-Identifier: Apache-2.0
// The focal losses of dense detectors. An anchor has a label t (0: background, -1: ignored) and
// logits x. Its terms are
//   SigmoidFocalLoss, for every class d:  -alpha (1 - p)^gamma log(p)       if d = t
//                                         -(1 - alpha) p^gamma log(1 - p)   else;  p = sigmoid(x_d)
//   SoftmaxFocalLoss:                     -z (1 - p)^gamma log(p);  p = softmax(x)_t,
//                                         z = alpha for an object, 1 - alpha for background
// The loss is the sum of all terms, divided by the larger of `objects` and 1. Backward is
//   SigmoidFocalLossGrad, SoftmaxFocalLossGrad (dloss, logits, labels, objects) -> dlogits
#include "operators/loss/focal.h"

#include <cmath>

#include "operators/kit/flops.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {
namespace {

const char* const kSigmoidFocal = "SigmoidFocalLoss";
const char* const kSoftmaxFocal = "SoftmaxFocalLoss";

Attributes focal_attributes(const FocalAttrs& attrs) {
  return {{"classes", attrs.classes}, {"alpha", attrs.alpha}, {"gamma", attrs.gamma}};
}

Value focal_loss(Graph& graph, const char* type, std::vector<Value> operands,
                 const FocalAttrs& attrs, const Site& site) {
  return graph.add_value({.type = type,
                          .domain = kOwnDomain,
                          .inputs = std::move(operands),
                          .attributes = focal_attributes(attrs)},
                         site);
}

// Gradients reach only the logits: labels and the number of objects are counts.
std::vector<Value> focal_gradient(const GradientRequest& r) {
  if (!r.wanted[0]) return {};
  return {r.graph.add_value({.type = r.node.type() + "Grad",
                             .domain = kOwnDomain,
                             .inputs = {r.dy[0], r.x(0), r.x(1), r.x(2)},
                             .attributes = focal_attributes(read_focal(r.node.attributes()))},
                            gradient_site(r, 0)),
          none, none};
}

// Checks logits, labels and objects, operands `first`, .. `extra` is the number of an anchor's
// planes besides the classes.
void demand_focal(Inference& inference, std::size_t first, int64_t extra) {
  inference.require_ranked();
  const FocalAttrs attrs = read_focal(inference.attributes);
  demand_dims(inference, first, 4);
  demand_dims(inference, first + 1, 4);
  demand_one_element(inference, first + 2);
  demand_type(inference, first, DType::float32);
  demand_type(inference, first + 2, DType::float32);
  const int64_t planes = attrs.classes + extra;
  Shape labels = inference.input(first).shape;
  if (labels[1].known()) {
    check(labels[1].size() % planes == 0, what_is(inference, first), ", should have ", planes,
          " planes for each anchor");
    labels[1] = Dim(labels[1].size() / planes);
  } else {
    labels[1] = Dim("?");
  }
  demand_shape(inference, first + 1, labels);
}

template <int kExtra>
void focal_law(Inference& inference) {
  demand_focal(inference, 0, kExtra);
  inference.outputs[0] = {inference.input(0).dtype, {}};
}

template <int kExtra>
void focal_grad_law(Inference& inference) {
  demand_focal(inference, 1, kExtra);
  demand_one_element(inference, 0);
  inference.outputs[0] = inference.input(1);
}

}  // namespace

FocalAttrs read_focal(AttributeReader attributes) {
  FocalAttrs attrs;
  attrs.classes = attributes.integer("classes", attrs.classes);
  attrs.alpha = attributes.number("alpha", attrs.alpha);
  attrs.gamma = attributes.number("gamma", attrs.gamma);
  attributes.done();
  check(attrs.classes >= 1 && attrs.classes < INT32_MAX, "classes is ", attrs.classes);
  check(attrs.alpha >= 0 && attrs.alpha <= 1, "alpha is ", attrs.alpha, ", should be in 0..1");
  check(attrs.gamma >= 0 && std::isfinite(attrs.gamma), "gamma is ", attrs.gamma);
  return attrs;
}

Value sigmoid_focal_loss(Graph& graph, Value logits, Value labels, Value objects,
                         const FocalAttrs& attrs, const Site& site) {
  return focal_loss(graph, kSigmoidFocal, {logits, labels, objects}, attrs, site);
}

Value softmax_focal_loss(Graph& graph, Value logits, Value labels, Value objects,
                         const FocalAttrs& attrs, const Site& site) {
  return focal_loss(graph, kSoftmaxFocal, {logits, labels, objects}, attrs, site);
}

namespace {

// The loss of a logit: a sigmoid or a part of a softmax (4), a power of its complement (2), a
// logarithm, two factors and the sum. The gradient takes the slopes of power and logarithm, too.
template <int each>
Flops of_logits(const Node& node) {
  return {.others = each * elements_in(node, 0)};
}
template <int each>
Flops of_logits_back(const Node& node) {
  return {.others = each * elements_in(node, 1)};
}

}  // namespace

std::vector<Op> focal_ops() {
  const std::vector<FormalAttribute> attributes{{"classes", AttributeKind::integer},
                                                {"alpha", AttributeKind::number},
                                                {"gamma", AttributeKind::number}};
  auto loss = [&](const char* type, const char* doc, BodyRule body, ShapeLaw law) {
    return Op{
        .type = type,
        .domain = kOwnDomain,
        .body = body,
        .signature =
            Signature{doc, {{"logits"}, {"labels", "I"}, {"objects"}}, {{"loss"}}, attributes},
        .law = law,
        .differentiable = Differentiable::yes,
        .gradient = focal_gradient,
        .flops = of_logits<10>};
  };
  auto gradient = [&](const char* loss, ShapeLaw law) {
    return Op{.type = std::string(loss) + "Grad",
              .domain = kOwnDomain,
              .no_body = kOnlyTrains,
              .signature = Signature{"Gradient of the loss with respect to the logits.",
                                     {{"dloss"}, {"logits"}, {"labels", "I"}, {"objects"}},
                                     {{"dlogits"}},
                                     attributes},
              .law = law,
              .flops = of_logits_back<16>,
              .may_alias = {{0, 1}}};
  };
  return {loss(kSigmoidFocal, "Focal loss of a sigmoid for each class.", sigmoid_focal_body,
               focal_law<0>),
          loss(kSoftmaxFocal, "Focal loss of a softmax over background and classes.",
               softmax_focal_body, focal_law<1>),
          gradient(kSigmoidFocal, focal_grad_law<0>), gradient(kSoftmaxFocal, focal_grad_law<1>)};
}

}  // namespace lockstep
