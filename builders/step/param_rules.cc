// SPDX-License-Identifier: Apache-2.0
#include "builders/step/param_rules.h"

#include "lockstep/operators.h"

namespace lockstep {

float decay_of(const ParamRules& rules, StateKind kind) {
  switch (kind) {
    case StateKind::bias:
      return 0;
    case StateKind::norm:
      return rules.weight_decay_norm;
    default:
      return rules.weight_decay;
  }
}

Value scaled_gradient(Graph& graph, const ParamRules& rules, StateKind kind, Value param,
                      Value gradient) {
  if (kind != StateKind::bias || rules.bias_rate_factor == 1) return gradient;
  return scale(graph, gradient, rules.bias_rate_factor, graph.name(param) + "_grad_scaled");
}

}  // namespace lockstep
