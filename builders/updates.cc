#include "builders/updates.h"

namespace lockstep {

std::vector<Binding> defer(OneReplica& one) {
  std::vector<Binding> updates;
  one.for_each_gradient([&](const Net::Param& param, Value& gradient) {
    const std::string state = join(param.name, "_", name_of(StateKind::deferred));
    updates.push_back({state, one.graph.name(gradient)});
    gradient = one.graph.input(state, one.graph.type(gradient));
  });
  return updates;
}

std::vector<Binding> update_statistics(OneReplica& one, const StatisticsOptions& options,
                                       const Flags& flags) {
  Statistics statistics;
  for (const Net::Param& param : one.params) {
    if (!param.next) continue;
    statistics.names.push_back(param.name);
    statistics.states.push_back(param.value);
    statistics.next.push_back(param.next);
  }
  // Deferred, whether the step is skipped is known one step later; a replica whose own gradients
  // are not finite keeps the statistics it had. Where statistics are of all replicas, so is what
  // keeps them from being taken over.
  if (options.deferred && flags.skipped)
    keep_statistics(
        one.graph, statistics,
        options.synchronised ? find_non_finite_statistics(one.graph, statistics) : flags.unsound);
  settle_statistics(one.graph, options.policy, options.replicas, statistics);
  if (!options.deferred && flags.skipped) keep_statistics(one.graph, statistics, flags.skipped);
  std::vector<Binding> updates;
  for (std::size_t i = 0; i < statistics.next.size(); ++i)
    updates.push_back({statistics.names[i], one.graph.name(statistics.next[i])});
  return updates;
}

std::vector<Binding> update_parameters(OneReplica& one, const MomentumSgd& optimizer,
                                       const Flags& flags) {
  std::vector<Binding> updates;
  const TensorType scalar{DType::float32, {1}};
  const Value rate = one.graph.input(kRate, scalar);
  const Value correction = optimizer.correct_momentum ? one.graph.input(kCorrection, scalar) : none;
  for (std::size_t p = one.params.size(); p-- > 0;) {
    if (!one.gradients[p]) continue;
    const Net::Param& param = one.params[p];
    const std::string state = join(param.name, "_", name_of(StateKind::momentum));
    const Value momentum = one.graph.input(state, one.graph.type(param.value));
    const UpdatedParam updated = add_update(one.graph, optimizer,
                                            {param.value, one.gradients[p], momentum, rate,
                                             correction, flags.skipped, param.kind, param.name});
    updates.push_back({param.name, one.graph.name(updated.param)});
    updates.push_back({state, one.graph.name(updated.momentum)});
  }
  return updates;
}

}  // namespace lockstep
