// SPDX-License-Identifier: Apache-2.0
// ConstantOfShape, Constant, EyeLike; initial values by RandomNormal and RandomUniform
// (operators/random). ONNX's attribute `seed` is a float; Lockstep stores the number of a Philox
// stream there, exact up to 2^24.
#include "operators/fill/fill.h"

#include "operators/kit/flops.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {
namespace {

Value random(Graph& graph, const char* type, const Dims& shape, Attributes attributes, int stream,
             const Site& site) {
  attributes.push_back({"shape", shape});
  attributes.push_back({"seed", static_cast<float>(stream)});
  attributes.push_back({"dtype", static_cast<int64_t>(DType::float32)});
  return graph.add_value({.type = type, .attributes = attributes}, site);
}

// The law of fills whose operand is their shape. ONNX 1.12 infers known numbers only.
void filled_law(Inference& inference) {
  if (auto shape = content_of(inference, 0))
    inference.outputs[0] = {inference.outputs[0].dtype, *shape, true};
}

}  // namespace

Value random_normal(Graph& graph, const Dims& shape, float mean, float deviation, int stream,
                    const Site& site) {
  return random(graph, "RandomNormal", shape, {{"mean", mean}, {"scale", deviation}}, stream, site);
}

Value random_uniform(Graph& graph, const Dims& shape, float low, float high, int stream,
                     const Site& site) {
  return random(graph, "RandomUniform", shape, {{"low", low}, {"high", high}}, stream, site);
}

Value constant_fill(Graph& graph, const Dims& shape, float value, const Site& site) {
  Value dims =
      graph.constant((site.name.empty() ? "fill" : site.name) + "_shape", Literal::vector(shape));
  return graph.add_value({.type = "ConstantOfShape",
                          .inputs = {dims},
                          .attributes = {{"value", Literal::of<float>({&value, 1}, {1})}}},
                         site);
}

std::vector<Op> fill_ops() {
  auto source = [](const char* type) {
    return Op{
        .type = type, .domain = "", .differentiable = Differentiable::zero, .flops = no_flops};
  };
  return {{.type = "ConstantOfShape",
           .domain = "",
           .law = filled_law,
           .content = content_of_fill,
           .differentiable = Differentiable::zero,
           .flops = no_flops},
          source("Constant"),
          source("EyeLike")};
}

}  // namespace lockstep
