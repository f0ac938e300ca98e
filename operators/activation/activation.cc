// SPDX-License-Identifier: Apache-2.0
// y = f(x), element by element. The gradients read y instead of x, so x need not be kept:
//   ReluGrad    dx = y > 0 ? dy : 0
//   SigmoidGrad dx = dy * y * (1 - y)
//   TanhGrad    dx = dy * (1 - y * y)
#include "operators/activation/activation.h"

#include "operators/kit/flops.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {
namespace {

std::vector<Value> gradient(const GradientRequest& request) {
  return {request.graph.add_value({.type = request.node.type() + "Grad",
                                   .domain = kOwnDomain,
                                   .inputs = {request.dy[0], request.y(0)}},
                                  gradient_site(request, 0))};
}

Op forward(const char* type) {
  return {.type = type,
          .domain = "",
          .differentiable = Differentiable::yes,
          .gradient = gradient,
          .may_alias = {{0, 0}},
          .narrow = {Narrow::follows}};
}

Op backward(const char* type, const char* doc, FlopRule flops) {
  return {.type = type,
          .domain = kOwnDomain,
          .no_body = kOnlyTrains,
          .signature = Signature{doc, {{"dy"}, {"y"}}, {{"dx"}}},
          .law = all_alike,
          .flops = flops,
          .may_alias = {{0, 0}, {0, 1}},
          .narrow = {Narrow::follows}};
}

}  // namespace

Value relu(Graph& graph, Value x, const Site& site) {
  return graph.add_value({.type = "Relu", .inputs = {x}}, site);
}

Value sigmoid(Graph& graph, Value x, const Site& site) {
  return graph.add_value({.type = "Sigmoid", .inputs = {x}}, site);
}

Value tanh(Graph& graph, Value x, const Site& site) {
  return graph.add_value({.type = "Tanh", .inputs = {x}}, site);
}

std::vector<Op> activation_ops() {
  return {forward("Relu"),
          forward("Sigmoid"),
          forward("Tanh"),
          backward("ReluGrad", "dx = dy where y > 0, else 0", per_result<1>),
          backward("SigmoidGrad", "dx = dy * y * (1 - y)", per_result<3>),
          backward("TanhGrad", "dx = dy * (1 - y * y)", per_result<3>)};
}

}  // namespace lockstep
