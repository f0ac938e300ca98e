// SPDX-License-Identifier: Apache-2.0
#include "operators/elementwise/clip.h"

#include "operators/kit/flops.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {
namespace {

// ONNX infers no shape for Clip.
void clip_law(Inference& inference) { inference.outputs[0] = inference.input(0); }

void clip_grad_law(Inference& inference) {
  using In = ClipGradIn;
  demand_alike(inference, {In::dy, In::x});
  for (const std::size_t bound : {In::low, In::high}) {
    if (bound >= inference.inputs.size() || !inference.inputs[bound]) continue;
    demand_type(inference, bound, inference.input(In::dy).dtype);
    demand_one_element(inference, bound);
  }
  inference.outputs[0] = inference.input(In::dy);
}

// The bounds count as constants, even if they are initializers: files store a ReLU6 with
// initializers as bounds.
std::vector<Value> clip_gradient(const GradientRequest& r) {
  std::vector<Value> inputs{r.dy[0], r.x(0)};
  for (std::size_t i = 1; i < r.node.inputs().size(); ++i) inputs.push_back(r.x(i));
  return {r.graph.add_value({.type = "ClipGrad", .domain = kOwnDomain, .inputs = std::move(inputs)},
                            gradient_site(r, 0))};
}

}  // namespace

Op clip_op() {
  return {.type = "Clip",
          .domain = "",
          .law = clip_law,
          .differentiable = Differentiable::yes,
          .gradient = clip_gradient,
          .flops = per_result<2>,
          .may_alias = {{0, 0}},
          .narrow = {Narrow::follows}};
}

Op clip_grad_op() {
  return {
      .type = "ClipGrad",
      .domain = kOwnDomain,
      .no_body = kOnlyTrains,
      .signature =
          Signature{"dx = dy where low <= x <= high, else 0",
                    {{"dy"}, {"x"}, {"low", "T", Arity::optional}, {"high", "T", Arity::optional}},
                    {{"dx"}}},
      .law = clip_grad_law,
      .flops = per_result<2>,
      .may_alias = {{0, ClipGradIn::dy}, {0, ClipGradIn::x}},
      .narrow = {Narrow::follows}};
}

}  // namespace lockstep
