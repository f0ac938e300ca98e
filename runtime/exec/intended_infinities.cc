// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/intended_infinities.h"

#include <algorithm>

#include "runtime/finite.h"

namespace lockstep {

void IntendedInfinities::begin(const Plan& plan) {
  if (literals_.empty())
    for (const Literal& literal : plan.literals)
      literals_.push_back(first_not_finite(view_of(literal)) >= 0);
  follow_refresh(plan);
  blocks_.assign(plan.blocks.size(), 0);
}

// Refresh steps are not checked; their results exist before the run starts.
void IntendedInfinities::follow_refresh(const Plan& plan) {
  states_.assign(plan.states.size(), 0);
  blocks_.assign(plan.blocks.size(), 0);
  for (const PlanStep& step : plan.refresh) {
    const bool may = reads_mask(plan, step);
    for (const int made : step.out) {
      if (made < 0) continue;
      const Slot& slot = plan.slots[made];
      (slot.storage == Storage::in_state ? states_ : blocks_)[slot.index] = may;
    }
  }
}

bool IntendedInfinities::reads_mask(const Plan& plan, const PlanStep& step) const {
  return std::any_of(step.in.begin(), step.in.end(), [&](int slot) { return masked(plan, slot); });
}

bool IntendedInfinities::masked(const Plan& plan, int slot) const {
  if (slot < 0) return false;
  const Slot& of = plan.slots[slot];
  const std::size_t index = of.index;
  if (of.storage == Storage::as_constant) return literals_[index] != 0;
  return (of.storage == Storage::in_state ? states_ : blocks_)[index] != 0;
}

IntendedInfinities::BadOutput IntendedInfinities::bad_output(const Plan& plan, const PlanStep& step,
                                                             std::span<const Tensor> made) {
  // Computed before outputs are noted, since an output may use an operand's block.
  const bool may = reads_mask(plan, step);
  BadOutput bad;
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (step.out[i] < 0) continue;
    const int64_t place = first_not_finite(made[i]);
    const int64_t bad_place = may && place >= 0 ? first_nan(made[i]) : place;
    if (bad.output < 0 && bad_place >= 0) bad = {static_cast<int>(i), bad_place};
    const Slot& slot = plan.slots[step.out[i]];
    if (slot.storage == Storage::in_arena) blocks_[slot.index] = place >= 0;
  }
  return bad;
}

}  // namespace lockstep
