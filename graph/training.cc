#include "graph/training.h"

#include <array>

namespace lockstep {
namespace {

constexpr std::array<std::pair<StateKind, std::string_view>, 7> kKinds{{
    {StateKind::weight, "weight"},
    {StateKind::bias, "bias"},
    {StateKind::norm, "norm"},
    {StateKind::computed, "computed"},
    {StateKind::momentum, "momentum"},
    {StateKind::deferred, "deferred"},
    {StateKind::scaling, "scaling"},
}};

}  // namespace

std::string_view name_of(StateKind kind) {
  for (const auto& [known, name] : kKinds)
    if (known == kind) return name;
  return "?";
}

StateKind state_kind_named(std::string_view name) {
  for (const auto& [kind, known] : kKinds)
    if (known == name) return kind;
  fail("no kind of state is called '", name, "'");
}

bool is_parameter(StateKind kind) {
  return kind == StateKind::weight || kind == StateKind::bias || kind == StateKind::norm;
}

bool differs_by_replica(StateKind kind) {
  return kind == StateKind::computed || kind == StateKind::deferred;
}

const State* TrainingModel::find_state(std::string_view name) const {
  for (const State& state : states)
    if (state.name == name) return &state;
  return nullptr;
}

std::vector<std::string> TrainingModel::feed_values() const {
  std::vector<std::string> names;
  for (const Replicated& input : inputs)
    names.insert(names.end(), input.values.begin(), input.values.end());
  return names;
}

std::vector<std::string> TrainingModel::fetch_values() const {
  std::vector<std::string> names;
  for (const auto* items : {&losses, &metrics, &checks})
    for (const Replicated& item : *items)
      names.insert(names.end(), item.values.begin(), item.values.end());
  return names;
}

Owners TrainingModel::owners() const {
  Owners owners;
  auto own = [&](const Replicated& item) {
    for (std::size_t k = 0; k < item.values.size(); ++k)
      owners.emplace(item.values[k], static_cast<int>(k));
  };
  for (const Replicated& input : inputs) own(input);
  for (const State& state : states) own(state);
  return owners;
}

std::vector<std::string> TrainingModel::state_values() const {
  std::vector<std::string> names;
  for (const State& state : states)
    names.insert(names.end(), state.values.begin(), state.values.end());
  return names;
}

}  // namespace lockstep
