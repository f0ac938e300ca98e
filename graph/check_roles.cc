// SPDX-License-Identifier: Apache-2.0
#include "graph/check_roles.h"

#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "graph/limits.h"

namespace lockstep {
namespace {

class RoleCheck {
 public:
  explicit RoleCheck(const TrainingModel& model) : model_(model) {}

  // Checks that every value of `items` is a value of the step. If `fed`, the values must be
  // distinct inputs.
  template <class Items>
  void check_items(const Items& items, const std::string& role, bool fed) {
    std::set<std::string> names;
    for (const auto& item : items) {
      check(!item.name.empty() && names.insert(item.name).second, "metadata: ", role, " '",
            item.name, "' occurs twice or has no name");
      check(static_cast<int>(item.values.size()) == model_.replicas, "metadata: ", role, " '",
            item.name, "' has ", item.values.size(), " values for ", model_.replicas, " replicas");
      for (const std::string& name : item.values) {
        const Value value = model_.step.find(name);
        check(bool(value), "metadata: ", role, " '", item.name, "' is '", name,
              "', which the step does not have");
        const TensorType& type = model_.step.type(value);
        const TensorType& first = model_.step.type(model_.step.at(item.values[0]));
        check(type.dtype == first.dtype && type.ranked && first.ranked, "metadata: ", role, " '",
              item.name, "' is ", type, " on one replica and ", first, " on another");
        if (!fed) continue;
        check(!model_.step.producer(value) && !model_.step.literal(value), "metadata: ", role, " '",
              item.name, "' is '", name, "', which the step computes");
        check(fed_.insert(name).second, "metadata: '", name,
              "' is used for two of the step's inputs and states");
      }
    }
  }

  void check_bindings(const std::vector<Binding>& bindings, const Graph& graph,
                      const std::string& what) const {
    std::unordered_map<std::string_view, StateKind> states;
    for (const State& state : model_.states)
      for (const std::string& name : state.values) states.emplace(name, state.kind);
    std::unordered_set<std::string_view> bound;
    for (const Binding& binding : bindings) {
      const auto state = states.find(binding.state);
      check(state != states.end(), what, ": '", binding.state, "' is not a state");
      check(is_saved(state->second), what, ": '", binding.state, "' is ", name_of(state->second),
            ", which only the loading of a batch sets");
      check(bound.insert(binding.state).second, what, ": '", binding.state, "' is bound twice");
      check(bool(graph.find(binding.value)), what, ": '", binding.state, "' takes '", binding.value,
            "', which does not exist");
    }
  }

 private:
  const TrainingModel& model_;
  std::unordered_set<std::string_view> fed_;
};

}  // namespace

void check_roles(const TrainingModel& model) {
  check(model.replicas >= 1 && model.replicas <= kMostReplicas, "metadata: the step is for ",
        model.replicas, " replicas; 1 to ", kMostReplicas, " are possible");
  RoleCheck roles(model);
  roles.check_items(model.states, "state", true);
  roles.check_items(model.inputs, "input", true);
  for (const StepInput& input : model.inputs)
    check(static_cast<std::size_t>(input.part) < model.inputs.size(), "metadata: input '",
          input.feed(), "' is of part ", input.part, ", more than there are inputs");
  roles.check_items(model.losses, "loss", false);
  roles.check_items(model.metrics, "metric", false);
  roles.check_items(model.checks, "check", false);
  roles.check_items(model.gradients, "gradient", false);
  roles.check_bindings(model.initial, model.init, "initialization binding");
  roles.check_bindings(model.updates, model.step, "update binding");
}

}  // namespace lockstep
