// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/step_phases.h"

#include <optional>
#include <string_view>
#include <unordered_map>

#include "runtime/plan/makers.h"

namespace lockstep {

std::vector<Phase> phases_of(const Plan& plan, const TrainingModel& model) {
  if (plan.name != model.step.name()) return std::vector<Phase>(plan.steps.size(), Phase::forward);
  const Graph& graph = model.step;
  const std::vector<Phase> of_nodes = phases_of(model);
  // Fusions keep the names of results, and most keep the name of a node.
  std::unordered_map<std::string_view, Phase> of_values, of_names;
  for (int index = 0; index < graph.node_count(); ++index) {
    const Node node = graph.node(index);
    of_names.emplace(node.name(), of_nodes[index]);
    for (const Value output : node.outputs())
      if (output) of_values.emplace(graph.name(output), of_nodes[index]);
  }
  const auto known = [&](const PlanStep& step) -> std::optional<Phase> {
    for (const int slot : step.out)
      if (slot >= 0)
        if (const auto found = of_values.find(plan.slots[slot].name); found != of_values.end())
          return found->second;
    const auto found = of_names.find(step.name);
    return found == of_names.end() ? std::nullopt : std::optional(found->second);
  };
  const std::vector<std::vector<int>> makers = makers_of_steps(plan);
  const std::vector<std::vector<int>> users = users_of_steps(makers);
  std::vector<std::optional<Phase>> phases(plan.steps.size());
  for (std::size_t i = 0; i < phases.size(); ++i) phases[i] = known(plan.steps[i]);
  for (std::size_t i = phases.size(); i-- > 0;)
    if (!phases[i] && !users[i].empty()) phases[i] = phases[users[i].front()];
  std::vector<Phase> result;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const bool made = !phases[i] && !makers[i].empty();
    result.push_back(made ? result[makers[i].back()] : phases[i].value_or(Phase::update));
  }
  return result;
}

}  // namespace lockstep
