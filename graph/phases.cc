// SPDX-License-Identifier: Apache-2.0
#include "graph/phases.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "graph/flops.h"
#include "graph/step_fetches.h"

namespace lockstep {
namespace {

bool crosses_replicas(const Node& node) {
  const Op* op = node.op();
  return op && (op->collective || op->copies || op->exchange);
}

// True for views, splits and concatenations, of which packing and unpacking consist.
bool only_moves(const Node& node) {
  const Op* op = node.op();
  if (!op || op->view) return op != nullptr;
  const auto flops = flops_of(node);
  return op->transit && flops && flops->all() == 0;
}

class PhaseFinder {
 public:
  explicit PhaseFinder(const TrainingModel& model)
      : model_(model), graph_(model.step), nodes_(graph_.node_count()) {}

  std::vector<Phase> find() {
    find_forward();
    find_backward();
    find_other_results();
    find_tail();
    phases_.assign(nodes_, Phase::update);
    for (int i = 0; i < nodes_; ++i)
      if (forward_[i])
        phases_[i] = Phase::forward;
      else if (backward_[i])
        phases_[i] = Phase::backward;
    find_reduce();
    return phases_;
  }

 private:
  void take(const std::string& name, std::vector<Value>& values) const {
    if (const Value value = graph_.find(name)) values.push_back(value);
  }
  std::vector<Value> values_of(const std::vector<const std::vector<Replicated>*>& lists) const {
    std::vector<Value> values;
    for (const auto* list : lists)
      for (const Replicated& item : *list)
        for (const std::string& name : item.values) take(name, values);
    return values;
  }

  // The nodes that the values depend on.
  std::vector<bool> ancestors(const std::vector<Value>& values) const {
    std::vector<bool> needed(graph_.value_count(), false), nodes(nodes_, false);
    for (Value value : values) needed[value.id] = true;
    for (int i = nodes_ - 1; i >= 0; --i) {
      const Node node = graph_.node(i);
      nodes[i] = std::ranges::any_of(
          node.outputs(), [&](Value output) { return output && bool(needed[output.id]); });
      if (!nodes[i]) continue;
      for (Value input : node.inputs())
        if (input) needed[input.id] = true;
    }
    return nodes;
  }

  // Losses of this process, and values that it sends for losses of others.
  void find_forward() {
    std::vector<Value> values = values_of({&model_.losses});
    forward_ = ancestors(values);
    last_forward_ = static_cast<int>(std::ranges::find(forward_.rbegin(), forward_.rend(), true) -
                                     forward_.rbegin());
    last_forward_ = nodes_ - 1 - last_forward_;
    const std::size_t own = values.size();
    take_sent(0, last_forward_, values);
    if (values.size() > own) forward_ = ancestors(values);
  }

  // Operands of the nodes from `begin` to `end` that only send.
  void take_sent(int begin, int end, std::vector<Value>& values) const {
    for (int i = begin; i < end; ++i)
      if (only_sends(graph_.node(i)))
        for (const Value input : graph_.node(i).inputs())
          if (input) values.push_back(input);
  }

  // True for a message to another process, whose result tells no more than its arrival.
  bool only_sends(const Node& node) const {
    return node.op() && node.op()->exchange && !any_user(node, [&](int user) {
             return !graph_.node(user).op() || !graph_.node(user).op()->exchange;
           });
  }

  // Gradients are the listed ones, new values of deferred ones, which the next step uses, and
  // gradients that this process sends to others.
  void find_backward() {
    std::vector<Value> gradients = values_of({&model_.gradients});
    take_sent(last_forward_ + 1, nodes_, gradients);
    std::map<std::string, StateKind> kinds;
    for (const State& state : model_.states)
      for (const std::string& name : state.values) {
        kinds.emplace(name, state.kind);
        if (const Value value = graph_.find(name)) states_.insert(value.id);
      }
    for (const Binding& update : model_.updates)
      if (const auto kind = kinds.find(update.state);
          kind != kinds.end() && kind->second == StateKind::deferred)
        take(update.value, gradients);
    backward_ = ancestors(gradients);
    for (int i = 0; i < nodes_; ++i)
      backward_[i] =
          !forward_[i] && (backward_[i] || (i > last_forward_ && only_sends(graph_.node(i))));
  }

  // Metrics and outputs belong to the forward pass unless they read gradients.
  void find_other_results() {
    std::vector<Value> values = values_of({&model_.metrics});
    for (const std::string& name : network_outputs(model_)) take(name, values);
    const std::vector<bool> needed = ancestors(values);
    std::vector<bool> reads_gradients = backward_;
    for (int i = 0; i < nodes_; ++i) {
      if (forward_[i] || backward_[i]) continue;
      reads_gradients[i] =
          any_maker(graph_.node(i), [&](int p) { return bool(reads_gradients[p]); });
      forward_[i] = needed[i] && !reads_gradients[i];
    }
  }

  bool reads_forward(const Node& node) const {
    return std::ranges::any_of(node.inputs(), [&](Value value) {
      if (!value || graph_.literal(value)) return false;
      if (const auto producer = graph_.producer(value)) return bool(forward_[producer->index()]);
      return !states_.contains(value.id);
    });
  }

  template <class Holds>
  bool any_user(const Node& node, const Holds& holds) const {
    return std::ranges::any_of(node.outputs(), [&](Value value) {
      return value && std::ranges::any_of(graph_.consumers(value), holds);
    });
  }

  template <class Holds>
  bool any_maker(const Node& node, const Holds& holds) const {
    return std::ranges::any_of(node.inputs(), [&](Value value) {
      const auto producer = value ? graph_.producer(value) : std::nullopt;
      return producer && holds(producer->index());
    });
  }

  // The tail of the backward pass: from here on, no value of the forward pass is read. A gradient's
  // sum over replicas is in the tail; the sums of batch norms over replicas are not.
  void find_tail() {
    tail_.assign(nodes_, false);
    for (int i = nodes_ - 1; i >= 0; --i) {
      if (!backward_[i]) continue;
      const Node node = graph_.node(i);
      tail_[i] =
          !reads_forward(node) && !any_user(node, [&](int u) { return backward_[u] && !tail_[u]; });
    }
  }

  // In the tail, nodes between two that cross replicas belong to the reduce, and so do moves before
  // the first and behind the last. All other nodes behind the last are part of the update.
  void find_reduce() {
    std::vector<bool> after(nodes_, false), before(nodes_, false);
    for (int i = 0; i < nodes_; ++i)
      after[i] = tail_[i] && (crosses_replicas(graph_.node(i)) ||
                              any_maker(graph_.node(i), [&](int p) { return bool(after[p]); }));
    for (int i = nodes_ - 1; i >= 0; --i)
      before[i] = tail_[i] && (crosses_replicas(graph_.node(i)) ||
                               any_user(graph_.node(i), [&](int u) { return bool(before[u]); }));
    for (int i = 0; i < nodes_; ++i) {
      const Node node = graph_.node(i);
      if (crosses_replicas(node) || (after[i] && before[i])) {
        phases_[i] = Phase::reduce;
      } else if (after[i]) {
        const bool unpacks =
            only_moves(node) && any_maker(node, [&](int p) { return phases_[p] == Phase::reduce; });
        phases_[i] = unpacks ? Phase::reduce : Phase::update;
      }
    }
    for (int i = nodes_ - 1; i >= 0; --i)
      if (before[i] && !after[i] && only_moves(graph_.node(i)) &&
          !any_user(graph_.node(i), [&](int u) { return phases_[u] != Phase::reduce; }))
        phases_[i] = Phase::reduce;
  }

  const TrainingModel& model_;
  const Graph& graph_;
  const int nodes_;
  int last_forward_ = -1;  // the last node that a loss depends on
  std::set<int> states_;   // value ids
  std::vector<bool> forward_, backward_, tail_;
  std::vector<Phase> phases_;
};

}  // namespace

std::string_view name_of(Phase phase) {
  constexpr std::array<std::string_view, kPhases> kNames{"forward", "backward", "reduce", "update"};
  return kNames[static_cast<std::size_t>(phase)];
}

const Graph& main_graph(const TrainingModel& model) {
  return model.step.node_count() > 0 ? model.step : model.inference;
}

std::vector<Phase> phases_of(const TrainingModel& model) {
  if (model.step.node_count() > 0) return PhaseFinder(model).find();
  return std::vector<Phase>(model.inference.node_count(), Phase::forward);
}

}  // namespace lockstep
