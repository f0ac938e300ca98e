// SPDX-License-Identifier: Apache-2.0
#include "builders/step/updates.h"

#include <map>

#include "builders/optimizers/decay.h"
#include "graph/average.h"
#include "lockstep/operators.h"

namespace lockstep {

std::vector<Binding> defer(OneReplica& one) {
  std::vector<Binding> updates;
  one.for_each_gradient([&](const Net::Param& param, Value& gradient) {
    const std::string state = join(param.name, "_", name_of(StateKind::deferred));
    updates.push_back({state, one.graph.name(gradient)});
    gradient = step_input(one.graph, state, one.graph.type(gradient),
                          "the previous gradient of '" + param.name + "'", param.origin);
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
  // With deferred gradients, a skip is known only one step later. So a replica with non-finite
  // gradients keeps its old statistics. If statistics are synchronised, all replicas decide
  // together, by the statistics.
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

namespace {

struct Count {
  Value number;  // number of this step's update
  Value made;    // number of updates after the step
};

// Skipped steps do not count, so the number of updates differs from the step number and must be a
// state.
Count count_update(Graph& graph, Value skipped) {
  const std::string name = kUpdatesMade;
  const auto node = [&](const char* type, std::vector<Value> inputs, const char* what) {
    return graph.add_value({.type = type, .inputs = std::move(inputs)}, name + what);
  };
  const Value before = step_input(graph, name, {DType::float32, {}}, "the number of updates made");
  const Value one = graph.constant(name + "_one", Literal::scalar(1.0F));
  const Value number = node("Add", {before, one}, "_with_this");
  if (!skipped) return {number, number};
  const Value zero = graph.constant(name + "_zero", Literal::scalar<int64_t>(0));
  const Value sound = node("Less", {skipped, zero}, "_sound");
  return {number, node("Where", {sound, number, before}, "_next")};
}

// The feeds of an update, with the rate times a factor. Parameters with equal factors share a rate,
// so their updates are one launch.
class Fed {
 public:
  Fed(Graph& graph, const Optimizer& optimizer) : graph_(graph), optimizer_(optimizer) {
    for (const OptimizerFeed& feed : optimizer.feeds)
      fed_.push_back(step_input(graph, feed.name, {DType::float32, {1}},
                                join("the ", name_of(feed.role), " of its updates")));
  }
  std::vector<Value> with_rate(float factor) {
    std::vector<Value> fed = fed_;
    for (std::size_t i = 0; factor != 1 && i < fed.size(); ++i)
      if (optimizer_.feeds[i].role == Role::rate) fed[i] = scaled(i, factor);
    return fed;
  }

 private:
  Value scaled(std::size_t feed, float factor) {
    Value& rate = scaled_[{feed, factor}];
    if (!rate)
      rate = scale(graph_, fed_[feed], factor,
                   join(optimizer_.feeds[feed].name, "_scaled_", scaled_.size()));
    return rate;
  }

  Graph& graph_;
  const Optimizer& optimizer_;
  std::vector<Value> fed_;
  std::map<std::pair<std::size_t, float>, Value> scaled_;
};

}  // namespace

std::vector<Binding> update_parameters(OneReplica& one, const Optimizer& optimizer,
                                       const ParamRules& rules, const Flags& flags) {
  Graph& graph = one.graph;
  std::vector<Binding> updates;
  ParamUpdate update;
  update.unless = flags.skipped;
  Fed fed(graph, optimizer);
  std::vector<std::string> names;
  for (const Net::Param& param : one.params)
    if (param.kind != StateKind::computed) names.push_back(param.name);
  check_patterns_used(rules, names);
  if (optimizer.counts) {
    const Count count = count_update(graph, flags.skipped);
    update.number = count.number;
    updates.push_back({kUpdatesMade, graph.name(count.made)});
  }
  for (std::size_t p = one.params.size(); p-- > 0;) {
    if (!one.gradients[p]) continue;
    const Net::Param& param = one.params[p];
    update.param = param.value;
    update.kind = param.kind;
    update.slots.clear();
    for (const OptimizerSlot& slot : optimizer.slots)
      update.slots.push_back(
          step_input(graph, join(param.name, "_", slot.name), graph.type(param.value),
                     join("the optimiser's ", slot.name, " of '", param.name, "'"), param.origin));
    update.gradient = scaled_gradient(graph, rules, param.kind, param.value, one.gradients[p]);
    update.fed = fed.with_rate(rate_factor_of(rules, param.name));
    const float decay = decay_of(rules, param.kind, param.name);
    if (optimizer.takes_decay)
      update.decay = decay;
    else
      update.gradient = decayed_gradient(graph, param.value, update.gradient, decay);
    const UpdatedParam updated = optimizer.update(graph, update);
    check(updated.slots.size() == optimizer.slots.size(), "the optimiser has ",
          optimizer.slots.size(), " slots, but ", updated.slots.size(), " new ones for '",
          param.name, "'");
    updates.push_back({param.name, graph.name(updated.param)});
    for (std::size_t s = 0; s < updated.slots.size(); ++s)
      updates.push_back({graph.name(update.slots[s]), graph.name(updated.slots[s])});
  }
  return updates;
}

// In a skipped step the average is multiplied by 1 and the parameter, which is finite, by 0.
std::vector<Binding> update_averages(OneReplica& one, float decay,
                                     const std::vector<Binding>& updates, const Flags& flags) {
  Graph& graph = one.graph;
  Value keep = graph.constant("ema_decay", Literal::scalar(decay));
  Value take = graph.constant("ema_share", Literal::scalar(1 - decay));
  if (flags.skipped) {
    const auto node = [&](const char* type, std::vector<Value> inputs, const char* name) {
      return graph.add_value({.type = type, .inputs = std::move(inputs)}, name);
    };
    const Value zero = graph.constant("ema_never", Literal::scalar<int64_t>(0));
    const Value sound = node("Less", {flags.skipped, zero}, "ema_sound");
    const Value all = graph.constant("ema_all", Literal::scalar(1.0F));
    const Value none_of = graph.constant("ema_none", Literal::scalar(0.0F));
    keep = node("Where", {sound, keep, all}, "ema_kept");
    take = node("Where", {sound, take, none_of}, "ema_taken");
  }
  std::map<std::string, std::string> made;
  for (const Binding& update : updates) made[update.state] = update.value;
  std::vector<Binding> averages;
  for (std::size_t p = one.params.size(); p-- > 0;) {
    if (!one.gradients[p]) continue;
    const Net::Param& param = one.params[p];
    const std::string state = average_of(param.name);
    const Value before = step_input(graph, state, graph.type(param.value),
                                    "the average of '" + param.name + "'", param.origin);
    const Value value = weighted_sum(graph, {{before, keep}, {graph.at(made.at(param.name)), take}},
                                     state + "_new");
    averages.push_back({state, graph.name(value)});
  }
  return averages;
}

}  // namespace lockstep
