// Momentum SGD: v = momentum * v + rate * gradient, param -= v.
#pragma once

#include "builders/optimizers/optimizer.h"
#include "operators/optimizer/momentum.h"

namespace lockstep {

// The momentum includes the rate. If the rate jumps, the momentum is scaled with it: replicas are
// fed `momentum_correction` (builders/optimizers/lr_schedule.h), which multiplies the old momentum.
inline Optimizer momentum_optimizer(const MomentumRule& rule, bool correct_momentum) {
  check(rule.momentum >= 0 && rule.momentum < 1, "the momentum is ", rule.momentum,
        ", should be at least 0 and below 1");
  Optimizer optimizer([rule](Graph& graph, const ParamUpdate& update) -> UpdatedParam {
    const Value correction = update.fed.size() > 1 ? update.fed[1] : none;
    const Updated updated = add_update(
        graph, rule,
        {update.gradient, update.slots, update.fed[0], update.param, correction, update.unless},
        graph.name(update.param) + "_update");
    return {updated.param, updated.slots};
  });
  optimizer.feeds = {kLearningRate};
  if (correct_momentum) optimizer.feeds.push_back({Role::correction, "momentum_correction"});
  optimizer.slots = {{"momentum"}};
  return optimizer;
}

struct MomentumSgd {
  float momentum = 0.9F;
  bool correct_momentum = false;

  operator Optimizer() const {  // NOLINT: it is one
    return momentum_optimizer({momentum, false}, correct_momentum);
  }
};

}  // namespace lockstep
