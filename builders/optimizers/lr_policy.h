// SPDX-License-Identifier: Apache-2.0
// The policies of a schedule of learning rates, a row each.
#pragma once

#include <string>
#include <vector>

#include "lockstep/optimizers.h"

namespace lockstep {

struct LrPolicy {
  const char* name;
  // The rate before warm-up.
  double (*rate)(const LrSchedule& schedule, int64_t iteration);
  // Throws for a schedule that has no such rates; null: any schedule has.
  void (*check)(const LrSchedule& schedule) = nullptr;
  bool has_steps = false;      // rates change at LrSchedule::steps
  bool needs_end = false;      // divides the whole run, so it needs the run's length
  bool follows_tests = false;  // changes the rate by the results of tests
  const char* key = "GAMMA";   // decides how large a rate gets
};
const std::vector<LrPolicy>& lr_policy_table();
// Null for an unknown name.
const LrPolicy* find_lr_policy(const std::string& name);

}  // namespace lockstep
