// The class of a parameter changes the gradient for its update, whatever the optimiser. As in
// Detectron:
//   bias    gradient times bias_rate_factor, no decay
//   norm    gradient + weight_decay_norm * param
//   weight  gradient + weight_decay * param
// Decay is added after the reduce, so it does not depend on the number of replicas.
#pragma once

#include "graph/training.h"

namespace lockstep {

struct ParamRules {
  float weight_decay = 1e-4F;
  float weight_decay_norm = 0;
  float bias_rate_factor = 2;
};

Value ruled_gradient(Graph& graph, const ParamRules& rules, StateKind kind, Value param,
                     Value gradient);

}  // namespace lockstep
