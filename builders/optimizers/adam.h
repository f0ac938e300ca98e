// Adam, as in torch.optim.Adam: operators/optimizer/adam.h.
#pragma once

#include <cmath>

#include "builders/optimizers/optimizer.h"
#include "operators/optimizer/adam.h"

namespace lockstep {

struct Adam {
  float beta1 = 0.9F, beta2 = 0.999F;
  float epsilon = 1e-8F;

  operator Optimizer() const {  // NOLINT: it is one
    for (auto [name, beta] : {std::pair("beta1", beta1), {"beta2", beta2}})
      check(beta >= 0 && beta < 1, "Adam's ", name, " is ", beta,
            ", should be at least 0 and below 1");
    check(epsilon > 0 && std::isfinite(epsilon), "Adam's epsilon is ", epsilon,
          ", should be finite and above 0");
    const AdamRule rule{beta1, beta2, epsilon};
    Optimizer optimizer([rule](Graph& graph, const ParamUpdate& update) -> UpdatedParam {
      const Updated updated = add_update(graph, rule,
                                         {update.gradient, update.slots, update.fed[0],
                                          update.param, update.number, update.unless},
                                         graph.name(update.param) + "_update");
      return {updated.param, updated.slots};
    });
    optimizer.feeds = {kLearningRate};
    optimizer.slots = {{"first_moment"}, {"second_moment"}};
    optimizer.counts = true;
    return optimizer;
  }
};

}  // namespace lockstep
