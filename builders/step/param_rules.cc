#include "builders/step/param_rules.h"

#include "operators/weighted/weighted.h"

namespace lockstep {
namespace {

Value decayed(Graph& graph, Value param, Value gradient, float decay) {
  if (decay == 0) return gradient;
  const std::string name = graph.name(param);
  auto weight = [&](const char* what, float value) {
    return graph.constant(name + what, Literal::of<float>({&value, 1}, {1}));
  };
  return weighted_sum(graph, {{gradient, weight("_one", 1)}, {param, weight("_wd", decay)}},
                      name + "_grad_decayed");
}

}  // namespace

Value ruled_gradient(Graph& graph, const ParamRules& rules, StateKind kind, Value param,
                     Value gradient) {
  switch (kind) {
    case StateKind::bias:
      if (rules.bias_rate_factor == 1) return gradient;
      return scale(graph, gradient, rules.bias_rate_factor, graph.name(param) + "_grad_scaled");
    case StateKind::norm:
      return decayed(graph, param, gradient, rules.weight_decay_norm);
    default:
      return decayed(graph, param, gradient, rules.weight_decay);
  }
}

}  // namespace lockstep
