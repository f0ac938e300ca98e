// SPDX-License-Identifier: Apache-2.0
#include "app/no_sums.h"

#include <algorithm>

namespace lockstep {

std::string why_no_sums(const TrainingModel& model) {
  if (model.step.node_count() == 0) return "a network alone has no gradients to sum";
  if (std::max(model.replicas, model.whole_replicas) == 1)
    return "a step of one replica sums no gradients";
  if (!model.gradients.empty()) return "";
  return model.updates.empty() ? "a forward pass alone has no gradients to sum"
                               : "this step trains no parameters";
}

}  // namespace lockstep
