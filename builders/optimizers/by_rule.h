// SPDX-License-Identifier: Apache-2.0
// An optimiser whose update is one operator, made from a rule (operators/optimizer/rules.h), and
// the checks that such optimisers share.
#pragma once

#include <cmath>
#include <string>

#include "lockstep/optimizers.h"
#include "operators/optimizer/momentum.h"
#include "operators/optimizer/update.h"

namespace lockstep {

// A function, since programs make optimisers in initialisers of globals, before a global would have
// its value.
inline OptimizerFeed learning_rate_feed() { return {Role::rate, "lr"}; }

// Its slots are the rule's, from zero on. The rule's number is the second one fed, or the update's.
template <class Rule>
Optimizer optimizer_by(const Rule& rule) {
  Optimizer optimizer([rule](Graph& graph, const ParamUpdate& update) -> UpdatedParam {
    const Value number = update.fed.size() > 1 ? update.fed[1] : update.number;
    const Updated updated = add_update(graph, rule,
                                       {update.gradient, update.slots, update.fed[0], update.param,
                                        number, update.unless, update.decay},
                                       graph.name(update.param) + "_update");
    return {updated.param, updated.slots};
  });
  optimizer.feeds = {learning_rate_feed()};
  for (const std::string& slot : Rule::signature().slots) optimizer.slots.push_back({slot});
  optimizer.takes_decay = Rule::kDecouplesDecay;
  return optimizer;
}

// `what`: "Adam's beta1".
inline void check_share(const std::string& what, float value) {
  check(value >= 0 && value < 1, what, " is ", value, ", should be at least 0 and below 1");
}
inline void check_positive(const std::string& what, float value) {
  check(value > 0 && std::isfinite(value), what, " is ", value, ", should be finite and above 0");
}
inline void check_not_negative(const std::string& what, float value) {
  check(value >= 0 && std::isfinite(value), what, " is ", value,
        ", should be finite and at least 0");
}

// Momentum SGD by this rule. With `correct_momentum` replicas are fed momentum_correction(), which
// multiplies the old momentum.
Optimizer momentum_optimizer(const MomentumRule& rule, bool correct_momentum);

}  // namespace lockstep
