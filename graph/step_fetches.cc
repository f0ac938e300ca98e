// SPDX-License-Identifier: Apache-2.0
#include "graph/step_fetches.h"

#include <set>

namespace lockstep {

std::vector<std::string> network_outputs(const TrainingModel& model) {
  if (!model.updates.empty()) return {};
  const std::vector<std::string> reports = model.fetch_values();
  std::set<std::string> listed(reports.begin(), reports.end());
  std::vector<std::string> outputs;
  for (Value output : model.step.outputs())
    if (const std::string& name = model.step.name(output); listed.insert(name).second)
      outputs.push_back(name);
  return outputs;
}

std::vector<std::string> step_fetches(const TrainingModel& model) {
  std::vector<std::string> fetches = model.fetch_values();
  if (!model.losses.empty()) return fetches;
  const std::vector<std::string> outputs = network_outputs(model);
  fetches.insert(fetches.end(), outputs.begin(), outputs.end());
  return fetches;
}

}  // namespace lockstep
