#include "runtime/plan/traffic.h"

#include <iomanip>
#include <sstream>

#include "runtime/reorders.h"

namespace lockstep {

Traffic traffic_of(const Plan& plan) {
  Traffic traffic;
  for (const PlanStep& step : plan.steps) {
    std::size_t bytes = 0;
    for (const auto* slots : {&step.in, &step.out})
      for (const int slot : *slots)
        if (slot >= 0) bytes += plan.slots[static_cast<std::size_t>(slot)].desc.bytes();
    bytes /= static_cast<std::size_t>(step.parts);  // of a collective: its share
    const bool moves = step.type == "Reorder";
    const std::size_t within = moves ? 0 : reordered_bytes(*step.kernel);
    traffic.bytes += bytes + within;
    traffic.reordered += moves ? bytes : within;
  }
  return traffic;
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
