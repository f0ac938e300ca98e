// SPDX-License-Identifier: Apache-2.0
// The class of a parameter changes the gradient for its update. As in Detectron:
//   bias    gradient times bias_rate_factor, no decay
//   norm    gradient + weight_decay_norm * param
//   weight  gradient + weight_decay * param
// Decay is added after the reduce, so it does not depend on the number of replicas. An optimiser
// that takes the decay itself gets it as a number (Optimizer::takes_decay).
#pragma once

#include "graph/training.h"

namespace lockstep {

struct ParamRules {
  float weight_decay = 1e-4F;
  float weight_decay_norm = 0;
  float bias_rate_factor = 2;
};

float decay_of(const ParamRules& rules, StateKind kind);
// The gradient times the factor of its class.
Value scaled_gradient(Graph& graph, const ParamRules& rules, StateKind kind, Value param,
                      Value gradient);

}  // namespace lockstep
