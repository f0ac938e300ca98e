// SPDX-License-Identifier: Apache-2.0
// y = scale * (x - mean) / sqrt(variance + epsilon) + bias, per channel.
//   BatchNormalization (ONNX)  statistics given; with training_mode 1 the statistics of the batch
//   FusedBatchNorm (x, scale, bias, mean, variance, z) -> y  statistics given; in plans only
//   BatchNormTrain (x, scale, bias, mean, variance, z, sums, squares)
//                           -> y, new mean, new variance, saved mean, saved variance
//   BatchNormGrad  (dy, x, scale, saved mean, saved variance, bias, y) -> dx, dscale, dbias, dz
//
// Fused attributes and operands occur in plans only (fuse_batch_norms). z, if present, is added to
// y. Then with relu = 1 negative results become 0, and with low and high results are limited to low
// .. high. The gradient needs y, or bias if no z was added, to find where dy passes; dz is the part
// of dy that passes.
//
// The operands sums and squares also occur in plans only: the sums of x and of its squares by
// channel, if the node that makes x computes them (fuse_convolutions). A kernel may ignore them.
//
// A running statistic becomes momentum * old + (1 - momentum) * the batch's statistic, with the
// population variance, as in ONNX. PyTorch's momentum is 1 - momentum, and PyTorch keeps the
// sample variance; both differences only affect predictions.
#include "operators/batch_norm/batch_norm.h"

#include "lockstep/operators.h"
#include "operators/batch_norm/operands.h"
#include "operators/kit/flops.h"
#include "operators/kit/operator_helpers.h"
#include "operators/kit/refusals.h"
#include "operators/layout/layout.h"

namespace lockstep {
namespace {

// Demands vectors with one number for each channel of operand `x`.
void demand_channels(const Inference& inference, std::size_t x,
                     std::initializer_list<std::size_t> vectors) {
  const Shape& shape = inference.input(x).shape;
  check(shape.size() >= 2, "data has ", shape.size(), " dimensions, should have at least 2");
  for (const std::size_t i : vectors) {
    demand_shape(inference, i, {shape[1]});
    demand_type(inference, i, inference.input(*vectors.begin()).dtype);
  }
}

void batch_norm_law(Inference& inference) {
  using In = BatchNormIn;
  inference.require_ranked();
  demand_channels(inference, In::x, {In::mean, In::variance});
  demand_channels(inference, In::x, {In::scale, In::bias});
  for (std::size_t i = 0; i < inference.outputs.size(); ++i)
    inference.outputs[i] = inference.input(i == 0 ? In::x : In::mean);
}

// Checks low and high; true if a Clip is fused.
bool check_clip(const AttributeReader& attributes, bool relu) {
  const bool low = attributes.has("low"), high = attributes.has("high");
  check(low == high, "needs both low and high, or neither");
  check(!low || !relu, "has either relu 1 or low and high");
  return low;
}

void fused_batch_norm_law(Inference& inference) {
  using In = BatchNormIn;
  batch_norm_law(inference);
  demand_alike(inference, {In::x, In::z});
  const bool relu = inference.attributes.integer("relu", 0) != 0;
  check(!check_clip(inference.attributes, relu) || inference.inputs.size() <= In::z,
        "takes no z, its input 5, with low and high");
}

void batch_norm_train_law(Inference& inference) {
  using In = BatchNormIn;
  fused_batch_norm_law(inference);
  demand_channels(inference, In::x, {In::mean, In::scale, In::sums, In::squares});
}

void batch_norm_grad_law(Inference& inference) {
  using In = BatchNormGradIn;
  inference.require_ranked();
  demand_channels(inference, In::x, {In::scale, In::mean, In::variance, In::bias});
  demand_alike(inference, {In::dy, In::x, In::y});
  const bool relu = inference.attributes.integer("relu", 0) != 0;
  const bool has_y = inference.inputs.size() > In::y && inference.inputs[In::y];
  check(!relu || has_y, "with relu 1 it needs y, its input 6, to know where dy passes");
  const bool clip = check_clip(inference.attributes, relu);
  const bool has_bias = inference.inputs.size() > In::bias && inference.inputs[In::bias];
  const bool added = inference.attributes.integer("added", 0) != 0;
  check(has_bias || !(clip || (relu && !added)),
        "needs bias, its input 5, to know where dy passes");
  check(relu || clip || inference.outputs.size() <= BatchNormGradOut::dz,
        "outputs dz only with relu 1 or low and high");
  inference.outputs[0] = inference.input(1);
  inference.outputs[1] = inference.outputs[2] = inference.input(2);
  if (inference.outputs.size() > 3) inference.outputs[3] = inference.input(1);
}

std::vector<Value> backward(const GradientRequest& r, Value mean, Value variance, bool given) {
  Site site = gradient_site(r, 0);
  Node node = r.graph.add(
      {.type = "BatchNormGrad",
       .domain = kOwnDomain,
       .inputs = {r.dy[0], r.x(BatchNormIn::x), r.x(BatchNormIn::scale), mean, variance},
       .attributes =
           write_batch_norm_grad({.epsilon = read_batch_norm(r.node).epsilon, .given = given}),
       .outputs = 3},
      site);
  return {node.outputs()[0], node.outputs()[1], node.outputs()[2], none, none};
}

std::vector<Value> train_gradient(const GradientRequest& r) {
  if (!r.dy[0]) return {};
  using In = BatchNormIn;
  check(!r.wanted[In::mean] && !r.wanted[In::variance], r.node.description(),
        ": running statistics cannot be trained");
  const BatchNormAttrs attrs = read_batch_norm(r.node);
  check(!attrs.relu && !attrs.clip, r.node.description(),
        ": with relu 1 or low and high it has no gradient; only plans contain it");
  return backward(r, r.y(BatchNormOut::saved_mean), r.y(BatchNormOut::saved_variance), false);
}

// Adds the gradients of given statistics. With s = 1 / sqrt(variance + epsilon): dmean = -scale s
// sum(dy) and dvariance = -scale s^2 / 2 sum(dy (x - mean) s); the sums are dbias and dscale.
void add_statistics_gradients(const GradientRequest& r, std::vector<Value>& dx) {
  using In = BatchNormIn;
  const Value dscale = dx[BatchNormGradOut::dscale], dbias = dx[BatchNormGradOut::dbias];
  auto site = [&](const char* ending) { return r.node.name() + ending; };
  Graph& graph = r.graph;
  auto scalar = [&](const char* ending, float value) {
    return graph.constant(r.node.name() + ending, Literal::scalar(value));
  };
  const float epsilon = read_batch_norm(r.node).epsilon;
  Value spread = add(graph, r.x(In::variance), scalar("_epsilon", epsilon), site("_spread"));
  Value root = graph.add_value({.type = "Sqrt", .inputs = {spread}}, site("_deviation"));
  Value by_mean =
      div(graph, mul(graph, r.x(In::scale), dbias, site("_dy_scaled")), root, site("_dm"));
  dx[In::mean] = neg(graph, by_mean, site("_mean_grad"));
  Value by_scale = mul(graph, r.x(In::scale), dscale, site("_dscale_scaled"));
  Value by_variance = div(graph, by_scale, spread, site("_dv"));
  dx[In::variance] = mul(graph, by_variance, scalar("_half", -0.5F), site("_variance_grad"));
}

bool only_data_wanted(const GradientRequest& r) {
  if (!r.graph.shape(r.x(BatchNormIn::bias))[0].known()) return false;
  for (std::size_t i = 0; i < r.wanted.size(); ++i)
    if (i != BatchNormIn::x && r.wanted[i]) return false;
  return true;
}

// The gradient if all parameters are frozen: dy is scaled as x was. Unlike BatchNormGrad, this does
// not keep x.
std::vector<Value> frozen_gradient(const GradientRequest& r) {
  const Value zero = shared_vector(r.graph, r.graph.shape(r.x(BatchNormIn::bias))[0].size(), 0);
  return {batch_norm(r.graph,
                     {r.dy[0], r.x(BatchNormIn::scale), zero, zero, r.x(BatchNormIn::variance)},
                     {.epsilon = read_batch_norm(r.node).epsilon}, gradient_site(r, 0)),
          none, none, none, none};
}

std::vector<Value> given_gradient(const GradientRequest& r) {
  if (!r.dy[0]) return {};
  check(!read_batch_norm(r.node).training, r.node.description(),
        ": with training_mode 1 it has no gradient; imported_model() (builders/net/imported.h) "
        "converts it to BatchNormTrain");
  if (only_data_wanted(r)) return frozen_gradient(r);
  std::vector<Value> dx = backward(r, r.x(BatchNormIn::mean), r.x(BatchNormIn::variance), true);
  if (r.wanted[BatchNormIn::mean] || r.wanted[BatchNormIn::variance])
    add_statistics_gradients(r, dx);
  return dx;
}

template <class Attrs>
void read_clip(AttributeReader& reader, Attrs& attrs) {
  attrs.clip = reader.has("low");
  attrs.low = reader.number("low", 0);
  attrs.high = reader.number("high", 0);
}
template <class Attrs>
void write_clip(const Attrs& attrs, Attributes& attributes) {
  if (attrs.clip) attributes.insert(attributes.end(), {{"low", attrs.low}, {"high", attrs.high}});
}

}  // namespace

BatchNormAttrs read_batch_norm(const Node& node) {
  AttributeReader reader = node.attributes();
  BatchNormAttrs attrs;
  attrs.epsilon = reader.number("epsilon", attrs.epsilon);
  attrs.momentum = reader.number("momentum", attrs.momentum);
  attrs.relu = reader.integer("relu", 0) != 0;
  read_clip(reader, attrs);
  attrs.training = node.type() == "BatchNormTrain" || reader.integer("training_mode", 0) != 0;
  return attrs;
}

Attributes write_batch_norm(const BatchNormAttrs& attrs) {
  Attributes attributes{{"epsilon", attrs.epsilon}, {"momentum", attrs.momentum}};
  if (attrs.relu) attributes.push_back({"relu", int64_t{1}});
  write_clip(attrs, attributes);
  return attributes;
}

Attributes write_fused_batch_norm(const BatchNormAttrs& attrs) {
  Attributes attributes{{"epsilon", attrs.epsilon}};
  if (attrs.relu) attributes.push_back({"relu", int64_t{1}});
  write_clip(attrs, attributes);
  return attributes;
}

BatchNormGradAttrs read_batch_norm_grad(const Node& node) {
  AttributeReader reader = node.attributes();
  BatchNormGradAttrs attrs;
  attrs.epsilon = reader.number("epsilon", attrs.epsilon);
  attrs.given = reader.integer("given", 0) != 0;
  attrs.relu = reader.integer("relu", 0) != 0;
  attrs.added = reader.integer("added", 0) != 0;
  read_clip(reader, attrs);
  return attrs;
}

Attributes write_batch_norm_grad(const BatchNormGradAttrs& attrs) {
  Attributes attributes{{"epsilon", attrs.epsilon}, {"given", int64_t{attrs.given}}};
  if (attrs.relu) attributes.push_back({"relu", int64_t{1}});
  if (attrs.added) attributes.push_back({"added", int64_t{1}});
  write_clip(attrs, attributes);
  return attributes;
}

BatchNormResults batch_norm_train(Graph& graph, const BatchNormOperands& operands,
                                  const BatchNormAttrs& attrs, const Site& site) {
  Node node = graph.add(
      {.type = "BatchNormTrain",
       .domain = kOwnDomain,
       .inputs = {operands.x, operands.scale, operands.bias, operands.mean, operands.variance},
       .attributes = write_batch_norm(attrs),
       .outputs = 5},
      site);
  return {node.outputs()[0], node.outputs()[1], node.outputs()[2]};
}

Value batch_norm(Graph& graph, const BatchNormOperands& operands, const BatchNormAttrs& attrs,
                 const Site& site) {
  return graph.add_value(
      {.type = "BatchNormalization",
       .inputs = {operands.x, operands.scale, operands.bias, operands.mean, operands.variance},
       .attributes = write_batch_norm(attrs)},
      site);
}

Layouts batch_norm_layouts(const KernelRequest& request) {
  using In = BatchNormIn;
  const bool added = request.in.size() > In::z && request.in[In::z].present();
  const std::vector<std::size_t> x{In::x}, x_and_z{In::x, In::z};
  return together(added ? x_and_z : x, {BatchNormOut::y}, LastBlock::padded)(request);
}

Layouts batch_norm_grad_layouts(const KernelRequest& request) {
  using In = BatchNormGradIn;
  using Out = BatchNormGradOut;
  std::vector<std::size_t> in{In::dy, In::x}, out{Out::dx};
  if (request.in.size() > In::y) in.push_back(In::y);
  if (request.out.size() > Out::dz) out.push_back(Out::dz);
  return together(in, out, LastBlock::padded)(request);
}

Refusal float_vectors(std::size_t first) {
  std::vector<Refusal> each;
  for (std::size_t i = first; i < first + 4; ++i) each.push_back(takes_types({DType::float32}, i));
  return every(std::move(each));
}

std::string no_clip(const KernelRequest& request) {
  return request.attributes().has("low") ? "has no bounds" : "";
}

namespace {

// y = a x + b with a and b by channel: two operations for each element. Statistics of the batch
// take three: the sum, and the sum of squares. A fused addition, ReLU or Clip take one.
Flops batch_norm_flops(const Node& node) {
  const BatchNormAttrs attrs = read_batch_norm(node);
  const int each = 2 + (attrs.training ? 3 : 0) + (has_operand(node, BatchNormIn::z) ? 1 : 0) +
                   (attrs.relu || attrs.clip ? 1 : 0);
  return {.others = each * elements_in(node, BatchNormIn::x)};
}

// The sums of dy and of dy (x - mean) take four operations for each element, and dx = a dy + b x +
// c takes four; with given statistics dx = a dy. A ReLU or Clip behind the norm takes one more.
Flops batch_norm_grad_flops(const Node& node) {
  const BatchNormGradAttrs attrs = read_batch_norm_grad(node);
  const int each = 4 + (attrs.given ? 1 : 4) + (attrs.relu || attrs.clip ? 1 : 0);
  return {.others = each * elements_in(node, BatchNormGradIn::x)};
}

}  // namespace

std::vector<Op> batch_norm_ops() {
  return {{.type = "BatchNormalization",
           .domain = "",
           .law = batch_norm_law,
           .differentiable = Differentiable::yes,
           .gradient = given_gradient,
           .flops = batch_norm_flops,
           .may_alias = {{0, 0}},
           .narrow = {Narrow::follows, {1, 2, 3, 4}}},
          {.type = "FusedBatchNorm",
           .domain = kOwnDomain,
           .no_body = kOnlyPlanned,
           .signature = Signature{"Batch normalisation, addition, and a ReLU or Clip.",
                                  {{"x"},
                                   {"scale", "U"},
                                   {"bias", "U"},
                                   {"mean", "U"},
                                   {"variance", "U"},
                                   {"z", "T", Arity::optional}},
                                  {{"y"}},
                                  {{"epsilon", AttributeKind::number},
                                   {"relu", AttributeKind::integer},
                                   {"low", AttributeKind::number},
                                   {"high", AttributeKind::number}}},
           .law = fused_batch_norm_law,
           .flops = batch_norm_flops,
           .may_alias = {{0, 0}, {0, BatchNormIn::z}},
           .narrow = {Narrow::follows, {1, 2, 3, 4}}},
          {.type = "BatchNormTrain",
           .domain = kOwnDomain,
           .no_body = kOnlyTrains,
           .signature = Signature{"Batch normalisation with the statistics of this batch.",
                                  {{"x"},
                                   {"scale", "U"},
                                   {"bias", "U"},
                                   {"mean", "U"},
                                   {"variance", "U"},
                                   {"z", "T", Arity::optional},
                                   {"sums", "U", Arity::optional},
                                   {"squares", "U", Arity::optional}},
                                  {{"y"},
                                   {"new_mean", "U"},
                                   {"new_variance", "U"},
                                   {"saved_mean", "U"},
                                   {"saved_variance", "U"}},
                                  {{"epsilon", AttributeKind::number},
                                   {"momentum", AttributeKind::number},
                                   {"relu", AttributeKind::integer},
                                   {"low", AttributeKind::number},
                                   {"high", AttributeKind::number}}},
           .law = batch_norm_train_law,
           .differentiable = Differentiable::yes,
           .gradient = train_gradient,
           .flops = batch_norm_flops,
           .may_alias = {{1, 3}, {2, 4}},
           .narrow = {Narrow::follows, {1, 2, 3, 4, 6, 7}}},
          {.type = "BatchNormGrad",
           .domain = kOwnDomain,
           .no_body = kOnlyTrains,
           .signature =
               Signature{"Gradients of batch normalisation.",
                         {{"dy"},
                          {"x"},
                          {"scale", "U"},
                          {"mean", "U"},
                          {"variance", "U"},
                          {"bias", "U", Arity::optional},
                          {"y", "T", Arity::optional}},
                         {{"dx"}, {"dscale", "U"}, {"dbias", "U"}, {"dz", "T", Arity::optional}},
                         {{"epsilon", AttributeKind::number},
                          {"given", AttributeKind::integer},
                          {"relu", AttributeKind::integer},
                          {"added", AttributeKind::integer},
                          {"low", AttributeKind::number},
                          {"high", AttributeKind::number}}},
           .law = batch_norm_grad_law,
           .flops = batch_norm_grad_flops,
           .may_alias = {{0, 0}},
           .narrow = {Narrow::follows, {2, 3, 4, 5}}}};
}

}  // namespace lockstep
