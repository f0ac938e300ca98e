// SPDX-License-Identifier: Apache-2.0
// The bytes that a step of a plan reads and writes.
#pragma once

#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace lockstep {

struct Traffic {
  std::size_t bytes = 0;  // of all operands and results, once for each kernel, reorders included
  std::size_t reordered = 0;  // by reorders, as steps or within a kernel
};
Traffic traffic_of(const Plan& plan);

// The bytes that a step adds to Traffic::bytes.
std::size_t bytes_of(const Plan& plan, const PlanStep& step);
// The bytes of a step's operands and results, without reorders within its kernel.
std::size_t bytes_of_tensors(const Plan& plan, const PlanStep& step);

// Count and bytes of the steps of one type.
struct KindOfStep {
  std::string type;
  std::size_t steps = 0, bytes = 0;  // bytes: as in Traffic
};
// Returns the kinds, most bytes first.
std::vector<KindOfStep> kinds_of_steps(const Plan& plan);

// "1000 bytes read and written, 10 of them by reorders (1.0 %)"
std::string text_of(const Traffic& traffic);

}  // namespace lockstep
