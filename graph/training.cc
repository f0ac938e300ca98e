// SPDX-License-Identifier: Apache-2.0
#include "lockstep/training_model.h"

#include <array>

namespace lockstep {
namespace {

constexpr std::array<std::pair<StateKind, std::string_view>, 10> kKinds{{
    {StateKind::weight, "weight"},
    {StateKind::bias, "bias"},
    {StateKind::norm, "norm"},
    {StateKind::computed, "computed"},
    {StateKind::slot, "slot"},
    {StateKind::own_slot, "own_slot"},
    {StateKind::average, "average"},
    {StateKind::deferred, "deferred"},
    {StateKind::scaling, "scaling"},
    {StateKind::resident, "resident"},
}};

constexpr std::array<std::pair<Role, std::string_view>, 4> kRoles{{
    {Role::data, "data"},
    {Role::weight, "weight"},
    {Role::rate, "rate"},
    {Role::correction, "correction"},
}};

template <class Table, class Kind>
std::string_view name_in(const Table& table, Kind kind) {
  for (const auto& [known, name] : table)
    if (known == kind) return name;
  return "?";
}

template <class Table>
auto named_in(const Table& table, std::string_view name, const char* what) {
  for (const auto& [kind, known] : table)
    if (known == name) return kind;
  fail("unknown ", what, " '", name, "'");
}

}  // namespace

std::string_view name_of(StateKind kind) { return name_in(kKinds, kind); }
StateKind state_kind_named(std::string_view name) {
  return named_in(kKinds, name, "kind of state");
}

std::string_view name_of(Role role) { return name_in(kRoles, role); }
Role role_named(std::string_view name) { return named_in(kRoles, name, "role of a step's input"); }

std::string scope_of_part(int part) { return join("micro_", part); }
std::string name_in_part(int part, const std::string& feed) {
  return part == 0 ? feed : scope_of_part(part) + "/" + feed;
}

std::string StepInput::feed() const { return name.substr(name_in_part(part, "").size()); }

bool is_parameter(StateKind kind) {
  return kind == StateKind::weight || kind == StateKind::bias || kind == StateKind::norm;
}

bool is_slot(StateKind kind) { return kind == StateKind::slot || kind == StateKind::own_slot; }

bool differs_by_replica(StateKind kind) {
  return kind == StateKind::computed || kind == StateKind::own_slot ||
         kind == StateKind::deferred || kind == StateKind::resident;
}

bool is_saved(StateKind kind) { return kind != StateKind::resident; }

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
