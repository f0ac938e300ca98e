// SPDX-License-Identifier: Apache-2.0
// LAMB. Adam's rule makes the moments and the step of rate 1; nodes after the rule compute the
// ratio and apply the step.
#include <string>

#include "builders/optimizers/by_rule.h"
#include "builders/optimizers/trust_ratio.h"
#include "lockstep/operators.h"
#include "operators/kit/operator_helpers.h"
#include "operators/optimizer/adam.h"
#include "operators/optimizer/adamw.h"

namespace lockstep {
namespace {

// A skipped step has the rate 0.
Value rate_unless(Graph& graph, Value rate, Value unless, const std::string& name) {
  if (!unless) return rate;
  const Value sound = graph.add_value(
      {.type = "Less", .inputs = {unless, shared_integer(graph, 0)}}, name + "_sound");
  return graph.add_value({.type = "Where", .inputs = {sound, rate, shared_number(graph, 0)}},
                         name + "_rate");
}

UpdatedParam by_ratio(Graph& graph, const AdamRule& rule, const ParamUpdate& update) {
  const std::string name = graph.name(update.param);
  const Value one = shared_vector(graph, 1, 1);
  const Updated adam = add_update(
      graph, rule, {update.gradient, update.slots, one, update.param, update.number, update.unless},
      name + "_update");
  Value direction = adam.step;
  if (update.decay != 0)
    direction = weighted_sum(
        graph, {{adam.step, one}, {update.param, shared_vector(graph, 1, update.decay)}},
        name + "_direction");
  const Value size = norm_of(graph, update.param, name + "_norm");
  const Value length = norm_of(graph, direction, name + "_direction_norm");
  const Value ratio = trust_ratio(graph, {size, length, size, length}, name);
  const Value rate = mul(graph, rate_unless(graph, update.fed[0], update.unless, name), ratio,
                         name + "_adapted_rate");
  // param - rate * (step + decay * param), which leaves every bit of the parameter for the rate 0
  Value kept = one;
  if (update.decay != 0)
    kept = sub(graph, one, mul(graph, rate, shared_number(graph, update.decay), name + "_lost"),
               name + "_kept");
  const Value made = weighted_sum(
      graph, {{update.param, kept}, {adam.step, scale(graph, rate, -1, name + "_taken")}},
      name + "_adapted");
  return {made, adam.slots};
}

}  // namespace

Lamb::operator Optimizer() const {
  check_share("LAMB's beta1", beta1);
  check_share("LAMB's beta2", beta2);
  check_positive("LAMB's epsilon", epsilon);
  const AdamRule rule{beta1, beta2, epsilon};
  Optimizer optimizer = optimizer_by(AdamWRule{rule});
  optimizer.counts = true;
  optimizer.update = [rule, plainly = optimizer.update](Graph& graph,
                                                        const ParamUpdate& update) -> UpdatedParam {
    return update.kind == StateKind::weight ? by_ratio(graph, rule, update)
                                            : plainly(graph, update);
  };
  return optimizer;
}

}  // namespace lockstep
