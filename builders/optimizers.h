// What happens to a parameter once its gradient is reduced.
#pragma once

#include <string>

#include "graph/training.h"

namespace lockstep {

// Momentum SGD with weight decay, by class of parameter as Detectron does it:
//   bias    gradient times bias_rate_factor, no decay
//   norm    gradient + weight_decay_norm * param
//   weight  gradient + weight_decay * param
// then v = momentum * v + rate * gradient, param -= v. Decay is added after the reduce, so it does
// not depend on the number of replicas.
struct MomentumSgd {
  float momentum = 0.9F;
  float weight_decay = 1e-4F;
  float weight_decay_norm = 0;
  float bias_rate_factor = 2;
  bool nesterov = false;
  // The rate stands inside the momentum. When it jumps, the momentum is scaled alike: replicas are
  // fed `momentum_correction` (see lr_schedule.h) and multiply the old momentum by it.
  bool correct_momentum = false;
};

struct ParamUpdate {
  Value param;
  Value gradient;
  Value momentum;
  Value rate;
  Value correction;  // none: the momentum is not corrected
  Value unless;      // none, or a number: where it is not negative the parameter stays
  StateKind kind;
  std::string name;  // full name of the parameter
};
struct UpdatedParam {
  Value param;
  Value momentum;
};
// Appends the update under the current replica.
UpdatedParam add_update(Graph& graph, const MomentumSgd& optimizer, const ParamUpdate& update);

}  // namespace lockstep
