// SPDX-License-Identifier: Apache-2.0
#include "app/diff/model_changes.h"

#include <algorithm>
#include <optional>

#include "app/diff/graph_changes.h"
#include "app/diff/settings_changes.h"

namespace lockstep {
namespace {

bool has_step(const TrainingModel& model) { return model.step.node_count() > 0; }

// A replica's values of the items of a step.
template <class Items>
void add_values(const Items& items, std::unordered_set<std::string_view>& values) {
  for (const Replicated& item : items) values.insert(item.values.begin(), item.values.end());
}

class ModelComparison {
 public:
  ModelComparison(const TrainingModel& a, const TrainingModel& b)
      : a_(a), b_(b), names_a_(a), names_b_(b) {
    add_values(a.states, listed_.a);
    add_values(a.inputs, listed_.a);
    add_values(b.states, listed_.b);
    add_values(b.inputs, listed_.b);
  }

  ModelDifference run() {
    const bool steps = has_step(a_) && has_step(b_);
    if (has_step(a_) != has_step(b_))
      add(has_step(a_) ? DiffKind::only_in_a : DiffKind::only_in_b, "training step", "");
    const GraphMatch inference = match(a_.inference, b_.inference);
    if (!steps) listed_ = {};
    std::optional<GraphMatch> init, step;
    if (steps) {
      init.emplace(match(a_.init, b_.init));
      step.emplace(match(a_.step, b_.step));
      compare_facts(*init, *step);
    }
    compare(inference, DiffPart::inference);
    if (steps) {
      compare(*init, DiffPart::init);
      compare(*step, DiffPart::step);
      add_bucket_changes(a_.bucket_plan, b_.bucket_plan, found_.states, found_.changes);
    } else {
      pair_constants(inference);
    }
    add_named_changes(DiffPart::metadata, "entry", {a_.metadata.begin(), a_.metadata.end()},
                      {b_.metadata.begin(), b_.metadata.end()}, found_.changes);
    return std::move(found_);
  }

 private:
  GraphMatch match(const Graph& a, const Graph& b) const {
    return match_graphs({a, names_a_}, {b, names_b_});
  }

  void compare(const GraphMatch& match, DiffPart part) {
    found_.nodes_a += match.a().graph.node_count();
    found_.nodes_b += match.b().graph.node_count();
    add_graph_changes(match, part, listed_, found_.changes);
    add_order_changes(match, part, found_.changes);
  }

  Change& add(DiffKind kind, const std::string& of, const std::string& name) {
    found_.changes.push_back({.part = DiffPart::model, .kind = kind, .of = of, .name = name});
    return found_.changes.back();
  }
  void add_changed(const std::string& of, const std::string& name, const std::string& what,
                   std::string a, std::string b) {
    Change& change = add(DiffKind::changed, of, name);
    change.what = what;
    change.a = std::move(a);
    change.b = std::move(b);
  }

  void compare_facts(const GraphMatch& init, const GraphMatch& step) {
    const auto number = [&](const char* of, int a, int b) {
      if (a != b) add_changed(of, "", "", std::to_string(a), std::to_string(b));
    };
    number("replicas", a_.replicas, b_.replicas);
    number("first replica", a_.first_replica, b_.first_replica);
    number("replicas of all processes", a_.whole_replicas, b_.whole_replicas);
    if (names_a_.scopes()[0] != names_b_.scopes()[0])
      add_changed("names of replicas", "", "", names_a_.scopes()[0] + "..",
                  names_b_.scopes()[0] + "..");
    compare_states(step);
    compare_items("input", a_.inputs, b_.inputs, step, [&](const auto& x, const auto& y) {
      if (x.role != y.role)
        add_changed("input", x.name, "role", std::string(name_of(x.role)),
                    std::string(name_of(y.role)));
      if (x.part != y.part)
        add_changed("input", x.name, "part", std::to_string(x.part), std::to_string(y.part));
    });
    const auto nothing_else = [](const auto&, const auto&) {};
    compare_items("loss", a_.losses, b_.losses, step, nothing_else);
    compare_items("metric", a_.metrics, b_.metrics, step, nothing_else);
    compare_items("check", a_.checks, b_.checks, step, nothing_else);
    compare_gradients(step);
    compare_bindings("initial value", a_.initial, b_.initial, init);
    compare_bindings("update", a_.updates, b_.updates, step);
  }

  // The item's type on its first replica, and its values on the replicas that both have.
  void compare_values(const char* of, const Replicated& x, const Replicated& y,
                      const GraphMatch& step) {
    const Graph &in_a = step.a().graph, &in_b = step.b().graph;
    ImpliedBetween is_implied(step);
    for (std::size_t k = 0; k < std::min(x.values.size(), y.values.size()); ++k) {
      const Value of_a = in_a.at(x.values[k]), of_b = in_b.at(y.values[k]);
      const TensorType &type_a = in_a.type(of_a), &type_b = in_b.type(of_b);
      // Results of nodes are compared with their nodes.
      if (k == 0 && is_leaf(in_a, of_a) && !same_type(type_a, type_b))
        add_changed(of, x.name, "type", text_of(type_a), text_of(type_b));
      if (step.value_in_b(of_a) == of_b || is_implied(of_a, of_b)) continue;
      const std::string name_a(step.a().name(of_a).rest), name_b(step.b().name(of_b).rest);
      add_changed(of, x.name, "value", name_a, name_b);
      found_.changes.back().replica = static_cast<int>(k);
    }
  }

  void compare_states(const GraphMatch& step) {
    std::map<std::string_view, const State*> by_value;  // of b
    for (const State& state : b_.states)
      for (const std::string& value : state.values) by_value.emplace(value, &state);
    std::unordered_set<std::string_view> paired;
    for (const State& state : a_.states) {
      const State* other = b_.find_state(state.name);
      if (!other && !state.values.empty())
        if (const Value value = step.value_in_b(step.a().graph.at(state.values[0])))
          if (const auto found = by_value.find(step.b().graph.name(value));
              found != by_value.end() && !a_.find_state(found->second->name))
            other = found->second;
      if (!other) {
        add(DiffKind::only_in_a, "state", state.name);
        continue;
      }
      paired.insert(other->name);
      found_.states.emplace(state.name, other->name);
      if (state.name != other->name) {
        Change& change = add(DiffKind::renamed, "state", state.name);
        change.a = state.name;
        change.b = other->name;
      }
      if (state.kind != other->kind)
        add_changed("state", state.name, "kind", std::string(name_of(state.kind)),
                    std::string(name_of(other->kind)));
      compare_values("state", state, *other, step);
    }
    for (const State& state : b_.states)
      if (paired.count(state.name) == 0) add(DiffKind::only_in_b, "state", state.name);
  }

  template <class Items, class Compare>
  void compare_items(const char* of, const Items& a, const Items& b, const GraphMatch& step,
                     const Compare& compare) {
    std::map<std::string_view, const Replicated*> in_b;
    for (const auto& item : b) in_b.emplace(item.name, &item);
    for (const auto& item : a) {
      const auto found = in_b.find(item.name);
      if (found == in_b.end()) {
        add(DiffKind::only_in_a, of, item.name);
        continue;
      }
      const auto& other = static_cast<const typename Items::value_type&>(*found->second);
      compare(item, other);
      compare_values(of, item, other, step);
      in_b.erase(found);
    }
    for (const auto& item : b)
      if (in_b.count(item.name) > 0) add(DiffKind::only_in_b, of, item.name);
  }

  // A reduced gradient has the name of its parameter. Parameters of one side are listed already.
  void compare_gradients(const GraphMatch& step) {
    std::vector<Replicated> of_a, of_b;
    for (const Replicated& gradient : a_.gradients)
      if (const auto state = found_.states.find(gradient.name); state != found_.states.end()) {
        of_a.push_back(gradient);
        of_a.back().name = state->second;
      } else if (!a_.find_state(gradient.name)) {
        of_a.push_back(gradient);
      }
    std::unordered_set<std::string_view> paired;
    for (const auto& [in_a, in_b] : found_.states) paired.insert(in_b);
    for (const Replicated& gradient : b_.gradients)
      if (paired.count(gradient.name) > 0 || !b_.find_state(gradient.name))
        of_b.push_back(gradient);
    compare_items("reduced gradient", of_a, of_b, step, [](const auto&, const auto&) {});
  }

  void compare_bindings(const char* of, const std::vector<Binding>& a,
                        const std::vector<Binding>& b, const GraphMatch& graphs) {
    std::map<ScopedKey, const Binding*> in_b;
    for (const Binding& binding : b) in_b.emplace(key_of(names_b_, binding.state), &binding);
    std::map<ScopedKey, const Binding*> in_a;
    ImpliedBetween is_implied(graphs);
    for (const Binding& binding : a) {
      ScopedKey key = key_of(names_a_, binding.state);
      if (const auto state = found_.states.find(std::string(key.second));
          state != found_.states.end())
        key.second = state->second;
      in_a.emplace(key, &binding);
      const auto found = in_b.find(key);
      if (found == in_b.end()) {
        add_binding(of, DiffKind::only_in_a, key, b_);
        continue;
      }
      const Value x = graphs.a().graph.at(binding.value);
      const Value y = graphs.b().graph.at(found->second->value);
      if (graphs.value_in_b(x) == y || is_implied(x, y)) continue;
      add_changed(of, std::string(key.second), "value", std::string(graphs.a().name(x).rest),
                  std::string(graphs.b().name(y).rest));
      found_.changes.back().replica = key.first;
    }
    for (const auto& [key, binding] : in_b)
      if (in_a.count(key) == 0) add_binding(of, DiffKind::only_in_b, key, a_);
  }

  using ScopedKey = std::pair<int, std::string_view>;
  static ScopedKey key_of(const ReplicaNames& names, std::string_view name) {
    const ScopedName scoped = names.of(name);
    return {scoped.replica, scoped.rest};
  }

  // States and replicas that one side lacks are listed already.
  void add_binding(const char* of, DiffKind kind, const ScopedKey& key,
                   const TrainingModel& other) {
    if (key.first >= other.replicas || !other.find_state(key.second)) return;
    add(kind, of, std::string(key.second)).replica = key.first;
  }

  void pair_constants(const GraphMatch& inference) {
    const Graph &a = inference.a().graph, &b = inference.b().graph;
    for (int id = 0; id < a.value_count(); ++id)
      if (const Value of_b = inference.value_in_b({id}); a.literal({id}) && of_b && b.literal(of_b))
        found_.constants.emplace(a.name({id}), b.name(of_b));
  }

  const TrainingModel &a_, &b_;
  const ReplicaNames names_a_, names_b_;
  ListedInputs listed_;
  ModelDifference found_;
};

}  // namespace

ModelDifference differences_of(const TrainingModel& a, const TrainingModel& b) {
  return ModelComparison(a, b).run();
}

}  // namespace lockstep
