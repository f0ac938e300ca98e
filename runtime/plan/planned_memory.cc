// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/planned_memory.h"

#include <vector>

#include "graph/limits.h"
#include "runtime/memory.h"

namespace lockstep {
namespace {

constexpr int kAllWorkers = -1;

PlannedMemory memory_on(const Plan& plan, int worker) {
  const bool on_host = plan.workers[0].device.info().in_host_memory;
  const auto taken = [&](std::size_t bytes) { return on_host ? allocated_bytes(bytes) : bytes; };
  const auto counts = [&](int other) { return worker == kAllWorkers || worker == other; };
  PlannedMemory memory;
  for (std::size_t w = 0; w < plan.workers.size(); ++w) {
    if (!counts(static_cast<int>(w))) continue;
    memory.arenas = saturating_add(memory.arenas, taken(plan.workers[w].arena_bytes));
    if (plan.workers[w].cached_bytes > 0) memory.kept += taken(plan.workers[w].cached_bytes);
  }
  std::vector<bool> stands_elsewhere(plan.states.size(), false);
  for (const std::vector<int>& group : plan.shared)
    for (std::size_t i = 1; i < group.size(); ++i) stands_elsewhere[group[i]] = true;
  for (std::size_t i = 0; i < plan.session_states(); ++i)
    if (plan.state_descs[i].present() && !stands_elsewhere[i] && counts(plan.state_workers[i]))
      memory.states = saturating_add(memory.states, taken(plan.state_descs[i].bytes()));
  if (worker != kAllWorkers) return memory;
  for (const Literal& literal : plan.literals) memory.scratch += literal.bytes().size();
  for (const auto* steps : {&plan.refresh, &plan.steps})
    for (const PlanStep& step : *steps) memory.scratch += step.kernel->scratch_bytes();
  return memory;
}

}  // namespace

std::size_t PlannedMemory::all() const {
  std::size_t sum = 0;
  for (const auto& [name, bytes] : parts()) sum = saturating_add(sum, bytes);
  return sum;
}

std::array<std::pair<std::string_view, std::size_t>, 5> PlannedMemory::parts() const {
  return {{{"arenas", arenas},
           {"states", states},
           {"kept", kept},
           {"scratch", scratch},
           {"loader", loader}}};
}

PlannedMemory planned_memory(const Plan& plan) { return memory_on(plan, kAllWorkers); }
PlannedMemory planned_memory(const Plan& plan, int worker) { return memory_on(plan, worker); }

std::string text_of(const PlannedMemory& memory) {
  std::string text = text_of_bytes(memory.all());
  const char* separator = ": ";
  for (const auto& [name, bytes] : memory.parts()) {
    text += join(separator, name, " ", text_of_bytes(bytes));
    separator = ", ";
  }
  return text;
}

}  // namespace lockstep
