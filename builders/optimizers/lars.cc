// SPDX-License-Identifier: Apache-2.0
// LARS. A norm is a property of a whole tensor, so the ratio cannot be part of a rule for one
// element. The ratio is computed by nodes before the momentum's rule: they are visible in the
// graph, their sums have the order of ReduceL2, so every replica computes the same bits, and all
// updates stay one launch.
#include <string>

#include "builders/optimizers/by_rule.h"
#include "builders/optimizers/decay.h"
#include "lockstep/operators.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {
namespace {

Value ratio_of(Graph& graph, const Lars& lars, Value param, Value gradient, float decay) {
  const std::string name = graph.name(param);
  const auto node = [&](const char* type, std::vector<Value> inputs, const char* what,
                        Attributes attributes = {}) {
    return graph.add_value(
        {.type = type, .inputs = std::move(inputs), .attributes = std::move(attributes)},
        name + what);
  };
  const auto norm = [&](Value of, const char* what) {
    return node("ReduceL2", {of}, what, {{"keepdims", int64_t{0}}});
  };
  const Value size = norm(param, "_norm"), slope = norm(gradient, "_grad_norm");
  std::vector<Value> terms{slope, shared_number(graph, lars.epsilon)};
  if (decay != 0) terms.push_back(mul(graph, size, shared_number(graph, decay), name + "_wd_norm"));
  const Value wanted = mul(graph, size, shared_number(graph, lars.trust), name + "_trusted");
  const Value ratio = div(graph, wanted, node("Sum", terms, "_grad_norms"), name + "_trust_ratio");
  const Value smaller = node("Min", {size, slope}, "_smaller_norm");
  const Value is_known = node("Greater", {smaller, shared_number(graph, 0)}, "_has_norms");
  return node("Where", {is_known, ratio, shared_number(graph, 1)}, "_ratio");
}

// ratio * (gradient + decay * param)
Value adapted(Graph& graph, const Lars& lars, const ParamUpdate& update) {
  const std::string name = graph.name(update.param);
  const Value ratio = ratio_of(graph, lars, update.param, update.gradient, update.decay);
  if (update.decay == 0) return mul(graph, update.gradient, ratio, name + "_grad_adapted");
  const Value decay = mul(graph, ratio, shared_number(graph, update.decay), name + "_adapted_wd");
  return weighted_sum(graph, {{update.gradient, ratio}, {update.param, decay}},
                      name + "_grad_adapted");
}

}  // namespace

Lars::operator Optimizer() const {
  check_positive("LARS's trust", trust);
  check_positive("LARS's epsilon", epsilon);
  Optimizer optimizer = momentum_optimizer({momentum, false}, correct_momentum);
  optimizer.update = [lars = *this, by_momentum = optimizer.update](
                         Graph& graph, ParamUpdate update) -> UpdatedParam {
    update.gradient = update.kind == StateKind::weight
                          ? adapted(graph, lars, update)
                          : decayed_gradient(graph, update.param, update.gradient, update.decay);
    update.decay = 0;
    return by_momentum(graph, update);
  };
  optimizer.takes_decay = true;
  return optimizer;
}

}  // namespace lockstep
