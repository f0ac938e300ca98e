// SPDX-License-Identifier: Apache-2.0
#include "builders/step/param_rules.h"

#include "builders/net/patterns.h"
#include "lockstep/operators.h"

namespace lockstep {
namespace {

float factor_of(const std::vector<PatternFactor>& factors, const std::string& name) {
  float factor = 1;
  for (const PatternFactor& one : factors)
    if (matches_any(name, {one.pattern})) factor = one.factor;
  return factor;
}

}  // namespace

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

float decay_of(const ParamRules& rules, StateKind kind, const std::string& name) {
  return decay_of(rules, kind) * factor_of(rules.decays, name);
}

float rate_factor_of(const ParamRules& rules, const std::string& name) {
  return factor_of(rules.rates, name);
}

void check_patterns_used(const ParamRules& rules, const std::vector<std::string>& params) {
  for (const auto& [factors, what] :
       {std::pair{&rules.rates, "learning rates by name (SOLVER.RATES)"},
        {&rules.decays, "weight decays by name (SOLVER.DECAYS)"}}) {
    std::vector<std::string> patterns;
    for (const PatternFactor& one : *factors) patterns.push_back(one.pattern);
    check_patterns_used(patterns, params, what);
  }
}

Value scaled_gradient(Graph& graph, const ParamRules& rules, StateKind kind, Value param,
                      Value gradient) {
  if (kind != StateKind::bias || rules.bias_rate_factor == 1) return gradient;
  return scale(graph, gradient, rules.bias_rate_factor, graph.name(param) + "_grad_scaled");
}

}  // namespace lockstep
