// BatchNormalization (training_mode 0): y = scale * (x - mean) / sqrt(var + epsilon) + bias, per
// channel. Its gradient is standard operators: mean and variance are constants here.
// InstanceNormalization: mean and variance of each plane. LayerNormalization: of the last axes.
// LRN: x / (bias + alpha / size * sum of squares over neighbouring channels) ^ beta.
// Dropout with training_mode 0 is the identity.
#include "operators/norm/norm.h"

#include "operators/elementwise/elementwise.h"
#include "operators/reduce/reduce.h"
#include "operators/room.h"
#include "operators/shape/shape.h"

namespace lockstep {
namespace {

void batch_norm_law(Inference& inference) {
  inference.require_ranked();
  supported(inference.attributes.integer("training_mode", 0) == 0,
            "training_mode 1 of BatchNormalization is not supported yet");
  const Shape& x = inference.input(0).shape;
  check(x.size() >= 2, "data has ", x.size(), " dimensions, should have at least 2");
  const char* const names[] = {"", "scale", "bias", "mean", "variance"};
  for (std::size_t i = 1; i < 5; ++i)
    check(inference.input(i).shape == Shape{x[1]} || !x[1].known(), names[i], " is ",
          text_of(inference.input(i).shape), ", should be ", text_of(Shape{x[1]}));
  inference.outputs[0] = inference.input(0);
}

// A vector over channels as [C, 1, ..], so that it broadcasts over x.
Value per_channel(const GradientRequest& r, Value vector, const Site& site) {
  std::vector<int64_t> shape(r.graph.shape(r.x(0)).size() - 1, 1);
  shape[0] = -1;
  return reshape(r.graph, vector, shape, site);
}

std::vector<Value> batch_norm_gradient(const GradientRequest& r) {
  check(r.wanted.size() < 5 || (!r.wanted[3] && !r.wanted[4]), r.node.description(),
        ": given statistics cannot be trained");
  Graph& graph = r.graph;
  auto attributes = r.node.attributes();
  Site site = gradient_site(r, 0);
  Value epsilon = scalar_like(graph, r.x(4), attributes.number("epsilon", 1e-5F), "epsilon");
  Value deviation =
      graph.add_value({.type = "Sqrt", .inputs = {add(graph, r.x(4), epsilon, site)}}, site);
  std::vector<int64_t> axes{0};
  for (std::size_t i = 2; i < graph.shape(r.x(0)).size(); ++i)
    axes.push_back(static_cast<int64_t>(i));
  std::vector<Value> dx(5);
  if (r.wanted[0]) {
    Value slope = per_channel(r, div(graph, r.x(1), deviation, site), site);
    dx[0] = mul(graph, r.dy[0], slope, site);
  }
  if (r.wanted[1]) {
    Site of_scale = gradient_site(r, 1);
    Value centred = sub(graph, r.x(0), per_channel(r, r.x(3), of_scale), of_scale);
    Value normal = div(graph, centred, per_channel(r, deviation, of_scale), of_scale);
    dx[1] = reduce_sum(graph, mul(graph, r.dy[0], normal, of_scale), axes, false, of_scale);
  }
  if (r.wanted[2]) dx[2] = reduce_sum(graph, r.dy[0], axes, false, gradient_site(r, 2));
  return dx;
}

void layer_norm_law(Inference& inference) {
  inference.require_ranked();
  const TensorType& x = inference.input(0);
  const auto axis = static_cast<std::size_t>(
      normal_axes({inference.attributes.integer("axis", -1)}, x.shape.size())[0]);
  TensorType statistics{DType::float32, x.shape};
  for (std::size_t i = axis; i < x.shape.size(); ++i) statistics.shape[i] = 1;
  inference.outputs[0] = x;
  for (std::size_t i = 1; i < inference.outputs.size(); ++i) inference.outputs[i] = statistics;
}

void dropout_law(Inference& inference) {
  const Literal* training = inference.constants.size() > 2 ? inference.constants[2] : nullptr;
  const bool given = inference.inputs.size() > 2 && inference.inputs[2];
  supported(!given || (training && !training->values<bool>()[0]),
            "Dropout in training mode is not supported yet");
  inference.outputs[0] = inference.input(0);
  if (inference.outputs.size() > 1)
    inference.outputs[1] = {DType::boolean, inference.input(0).shape, inference.input(0).ranked};
}

std::vector<Value> dropout_gradient(const GradientRequest& r) { return {r.dy[0], none, none}; }

}  // namespace

std::vector<Op> norm_ops() {
  return {{.type = "BatchNormalization",
           .domain = "",
           .law = batch_norm_law,
           .differentiable = Differentiable::yes,
           .gradient = batch_norm_gradient,
           .may_alias = {{0, 0}}},
          {.type = "InstanceNormalization", .domain = "", .law = same_as_first},
          {.type = "LRN", .domain = "", .law = same_as_first},
          {.type = "LayerNormalization", .domain = "", .law = layer_norm_law},
          {.type = "Dropout",
           .domain = "",
           .law = dropout_law,
           .differentiable = Differentiable::yes,
           .gradient = dropout_gradient,
           .may_alias = {{0, 0}}}};
}

}  // namespace lockstep
