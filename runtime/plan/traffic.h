// SPDX-License-Identifier: Apache-2.0
// The bytes that a step of a plan reads and writes.
#pragma once

#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace lockstep {

struct Traffic {
  std::size_t bytes = 0;  // of all operands and results, once for each kernel, reorders included
  std::size_t reordered = 0;  // by reorders, steps of their own or within a kernel
};
Traffic traffic_of(const Plan& plan);

// The share of one step in Traffic::bytes.
std::size_t bytes_of(const Plan& plan, const PlanStep& step);
// Of its operands and results alone, without what its kernel reorders within.
std::size_t bytes_of_tensors(const Plan& plan, const PlanStep& step);

// The steps of one type.
struct KindOfStep {
  std::string type;
  std::size_t steps = 0, bytes = 0;  // bytes: as in Traffic
};
// Most bytes first.
std::vector<KindOfStep> kinds_of_steps(const Plan& plan);

// "1000 bytes read and written, 10 of them by reorders (1.0 %)"
std::string text_of(const Traffic& traffic);

}  // namespace lockstep
