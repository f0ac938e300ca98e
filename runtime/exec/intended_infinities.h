// SPDX-License-Identifier: Apache-2.0
// Intended infinities. A mask is a constant with -inf. Values made from a mask are infinite until
// an operator such as softmax makes them finite again. These values are not faults; NaNs always
// are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/plan/plan.h"

namespace lockstep {

class IntendedInfinities {
 public:
  // Called before a run that checks all values.
  void begin(const Plan& plan);

  struct BadOutput {
    int output = -1;  // index among the step's outputs; -1: none
    int64_t place = -1;
  };
  // Returns the first output that is a fault. Check a step after the makers of its operands.
  BadOutput bad_output(const Plan& plan, const PlanStep& step, std::span<const Tensor> made);

 private:
  bool masked(const Plan& plan, int slot) const;
  bool reads_mask(const Plan& plan, const PlanStep& step) const;
  void follow_refresh(const Plan& plan);

  std::vector<char> literals_;  // true for a literal with an infinity
  std::vector<char> states_;    // true for a state of the plan that is made from a mask
  std::vector<char> blocks_;  // true for a block with an infinity from a mask; char, since workers
                              // write concurrently
};

}  // namespace lockstep
