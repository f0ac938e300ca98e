// SPDX-License-Identifier: Apache-2.0
#include "app/train/debug_lines.h"

#include <set>

#include "builders/all_reduce/packing_summary.h"
#include "lockstep/error.h"

namespace lockstep {

std::vector<std::string> debug_lines(const TrainingModel& step) {
  std::set<std::string> trained;
  for (const Replicated& gradient : step.gradients) trained.insert(gradient.name);
  std::vector<std::string> lines;
  for (const State& state : step.states) {
    if (!is_parameter(state.kind)) continue;
    const TensorType& type = step.step.type(step.step.at(state.values[0]));
    lines.push_back(join("param ", state.name, " ", type,
                         trained.contains(state.name) ? " will be updated" : " is not trained"));
  }
  const std::vector<std::string> packing = packing_summary(step);
  lines.insert(lines.end(), packing.begin(), packing.end());
  return lines;
}

}  // namespace lockstep
