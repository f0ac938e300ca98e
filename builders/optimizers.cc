#include "builders/optimizers.h"

#include "operators/optimizer/optimizer.h"

namespace lockstep {
namespace {

Value decayed(Graph& graph, const ParamUpdate& update, float decay) {
  if (decay == 0) return update.gradient;
  auto weight = [&](const char* name, float value) {
    return graph.constant(update.name + name, Literal::of<float>({&value, 1}, {1}));
  };
  return weighted_sum(graph,
                      {{update.gradient, weight("_one", 1)}, {update.param, weight("_wd", decay)}},
                      update.name + "_grad_decayed");
}

Value adjusted(Graph& graph, const MomentumSgd& optimizer, const ParamUpdate& update) {
  switch (update.kind) {
    case StateKind::bias:
      if (optimizer.bias_rate_factor == 1) return update.gradient;
      return scale(graph, update.gradient, optimizer.bias_rate_factor,
                   update.name + "_grad_scaled");
    case StateKind::norm:
      return decayed(graph, update, optimizer.weight_decay_norm);
    default:
      return decayed(graph, update, optimizer.weight_decay);
  }
}

}  // namespace

UpdatedParam add_update(Graph& graph, const MomentumSgd& optimizer, const ParamUpdate& update) {
  Value gradient = adjusted(graph, optimizer, update);
  MomentumUpdate updated = momentum_sgd(
      graph,
      {gradient, update.momentum, update.rate, update.param, update.correction, update.unless},
      {optimizer.momentum, optimizer.nesterov},
      {update.name + "_step", update.name + "_momentum_new", update.name + "_new"},
      update.name + "_update");
  return {updated.param, updated.momentum};
}

}  // namespace lockstep
