// SPDX-License-Identifier: Apache-2.0
#include "lockstep/models.h"

#include "lockstep/layers.h"
#include "lockstep/operators.h"

namespace lockstep {
namespace {

// Small initial weights, so that all actions are about equally likely at first.
constexpr float kSmall = 0.01F;

Value tower(Net& net, Value x, const ActorCriticOptions& options, const std::string& name) {
  int number = 1;
  for (int64_t width : options.hidden) {
    x = fc_layer(net, x, width, {.weight = glorot()}, join(name, "_fc", number));
    x = tanh(net.graph, x, join(name, "_tanh", number));
    ++number;
  }
  return x;
}

}  // namespace

ModelFn actor_critic(const ActorCriticOptions& options) {
  return [options](Net& net) {
    const Value seen = net.input(kObservation, {DType::float32, {"N", options.observations}});
    const Value scores = fc_layer(net, tower(net, seen, options, "policy"), options.actions,
                                  {.weight = gaussian(kSmall)}, "policy");
    const Value values =
        fc_layer(net, tower(net, seen, options, "value"), 1, {.weight = glorot()}, "value");
    choose_actions(net, scores, values, options.loss);
  };
}

}  // namespace lockstep
