// y = scale * (x - mean) / sqrt(variance + epsilon) + bias, per channel.
//   BatchNormalization (ONNX)  statistics given; with training_mode 1 those of the batch
//   BatchNormTrain (x, scale, bias, mean, variance)
//                           -> y, new mean, new variance, saved mean, saved variance
//   BatchNormGrad  (dy, x, scale, saved mean, saved variance) -> dx, dscale, dbias
// A running statistic becomes momentum * old + (1 - momentum) * of the batch, and the variance is
// that of the population, as ONNX has it. PyTorch counts the other way round (its momentum is one
// minus ours) and keeps the sample's variance; both only matter to predictions.
#include "operators/batch_norm/batch_norm.h"

#include "operators/room.h"

namespace lockstep {
namespace {

void check_channels(const Inference& inference, std::size_t first_vector) {
  inference.require_ranked();
  const Shape& x = inference.input(first_vector - 1).shape;
  check(x.size() >= 2, "data has ", x.size(), " dimensions, should have at least 2");
  for (std::size_t i = first_vector; i < inference.inputs.size(); ++i)
    check(inference.input(i).shape == Shape{x[1]} || !x[1].known(), "operand ", i, " is ",
          text_of(inference.input(i).shape), ", should be ", text_of(Shape{x[1]}),
          ", one for each channel");
}

void batch_norm_law(Inference& inference) {
  check_channels(inference, 1);
  for (std::size_t i = 0; i < inference.outputs.size(); ++i)
    inference.outputs[i] = inference.input(i == 0 ? 0 : 3);
}

void batch_norm_grad_law(Inference& inference) {
  check_channels(inference, 2);
  inference.outputs[0] = inference.input(1);
  inference.outputs[1] = inference.outputs[2] = inference.input(2);
}

std::vector<Value> backward(const GradientRequest& r, Value mean, Value variance, bool given) {
  Site site = gradient_site(r, 0);
  Node node = r.graph.add(
      {.type = "BatchNormGrad",
       .domain = kOwnDomain,
       .inputs = {r.dy[0], r.x(0), r.x(1), mean, variance},
       .attributes = {{"epsilon", read_batch_norm(r.node).epsilon}, {"given", int64_t{given}}},
       .outputs = 3},
      site);
  return {node.outputs()[0], node.outputs()[1], node.outputs()[2], none, none};
}

std::vector<Value> train_gradient(const GradientRequest& r) {
  if (!r.dy[0]) return {};
  check(!r.wanted[3] && !r.wanted[4], r.node.description(),
        ": running statistics cannot be trained");
  return backward(r, r.y(3), r.y(4), false);
}

std::vector<Value> given_gradient(const GradientRequest& r) {
  if (!r.dy[0]) return {};
  check(!r.wanted[3] && !r.wanted[4], r.node.description(), ": given statistics cannot be trained");
  check(!read_batch_norm(r.node).training, r.node.description(),
        ": with training_mode 1 its gradient needs what BatchNormTrain saves; "
        "imported_model() (builders/imported.h) makes that of it");
  return backward(r, r.x(3), r.x(4), true);
}

Attributes attributes_of(const BatchNormAttrs& attrs) {
  return {{"epsilon", attrs.epsilon}, {"momentum", attrs.momentum}};
}

}  // namespace

BatchNormAttrs read_batch_norm(const Node& node) {
  AttributeReader reader = node.attributes();
  BatchNormAttrs attrs;
  attrs.epsilon = reader.number("epsilon", attrs.epsilon);
  attrs.momentum = reader.number("momentum", attrs.momentum);
  attrs.training = node.type() == "BatchNormTrain" || reader.integer("training_mode", 0) != 0;
  return attrs;
}

BatchNormResults batch_norm_train(Graph& graph, const BatchNormOperands& operands,
                                  const BatchNormAttrs& attrs, const Site& site) {
  Node node = graph.add(
      {.type = "BatchNormTrain",
       .domain = kOwnDomain,
       .inputs = {operands.x, operands.scale, operands.bias, operands.mean, operands.variance},
       .attributes = attributes_of(attrs),
       .outputs = 5},
      site);
  return {node.outputs()[0], node.outputs()[1], node.outputs()[2]};
}

Value batch_norm(Graph& graph, const BatchNormOperands& operands, const BatchNormAttrs& attrs,
                 const Site& site) {
  return graph.add_value(
      {.type = "BatchNormalization",
       .inputs = {operands.x, operands.scale, operands.bias, operands.mean, operands.variance},
       .attributes = attributes_of(attrs)},
      site);
}

std::vector<Op> batch_norm_ops() {
  return {
      {.type = "BatchNormalization",
       .domain = "",
       .law = batch_norm_law,
       .differentiable = Differentiable::yes,
       .gradient = given_gradient},
      {.type = "BatchNormTrain",
       .domain = kOwnDomain,
       .signature =
           Signature{"Batch normalisation with the statistics of this batch.",
                     {{"x"}, {"scale"}, {"bias"}, {"mean"}, {"variance"}},
                     {{"y"}, {"new_mean"}, {"new_variance"}, {"saved_mean"}, {"saved_variance"}},
                     {{"epsilon", AttributeKind::number}, {"momentum", AttributeKind::number}}},
       .law = batch_norm_law,
       .differentiable = Differentiable::yes,
       .gradient = train_gradient,
       .may_alias = {{1, 3}, {2, 4}}},
      {.type = "BatchNormGrad",
       .domain = kOwnDomain,
       .signature =
           Signature{"Gradients of batch normalisation.",
                     {{"dy"}, {"x"}, {"scale"}, {"mean"}, {"variance"}},
                     {{"dx"}, {"dscale"}, {"dbias"}},
                     {{"epsilon", AttributeKind::number}, {"given", AttributeKind::integer}}},
       .law = batch_norm_grad_law,
       .may_alias = {{0, 0}}}};
}

}  // namespace lockstep
