// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/traffic.h"

#include <algorithm>
#include <functional>
#include <iomanip>
#include <map>
#include <sstream>

namespace lockstep {

std::size_t bytes_of_tensors(const Plan& plan, const PlanStep& step) {
  std::size_t bytes = 0;
  for (const auto* slots : {&step.in, &step.out})
    for (const int slot : *slots)
      if (slot >= 0) bytes += plan.slots[slot].desc.bytes();
  return bytes / step.parts;  // one part of a collective
}

namespace {

bool is_reorder(const PlanStep& step) { return step.type == "Reorder"; }
std::size_t reordered_within(const PlanStep& step) {
  return is_reorder(step) ? 0 : step.kernel->reordered_bytes();
}

}  // namespace

std::size_t bytes_of(const Plan& plan, const PlanStep& step) {
  return bytes_of_tensors(plan, step) + reordered_within(step);
}

Traffic traffic_of(const Plan& plan) {
  Traffic traffic;
  for (const PlanStep& step : plan.steps) {
    traffic.bytes += bytes_of(plan, step);
    traffic.reordered += is_reorder(step) ? bytes_of(plan, step) : reordered_within(step);
  }
  return traffic;
}

std::vector<KindOfStep> kinds_of_steps(const Plan& plan) {
  std::map<std::string, KindOfStep> by_type;
  for (const PlanStep& step : plan.steps) {
    KindOfStep& kind = by_type[step.type];
    kind.type = step.type;
    ++kind.steps;
    kind.bytes += bytes_of(plan, step);
  }
  std::vector<KindOfStep> kinds;
  for (auto& [type, kind] : by_type) kinds.push_back(std::move(kind));
  std::ranges::stable_sort(kinds, std::greater(), &KindOfStep::bytes);
  return kinds;
}

std::string text_of(const Traffic& traffic) {
  std::ostringstream out;
  out << traffic.bytes << " bytes read and written, " << traffic.reordered
      << " of them by reorders";
  if (traffic.bytes > 0)
    out << " (" << std::fixed << std::setprecision(1)
        << 100 * static_cast<double>(traffic.reordered) / static_cast<double>(traffic.bytes)
        << " %)";
  return out.str();
}

}  // namespace lockstep
