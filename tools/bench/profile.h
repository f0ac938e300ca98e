// SPDX-License-Identifier: Apache-2.0
// Where the time of a step goes.
#pragma once

#include <optional>

#include "runtime/exec/executor.h"
#include "tools/bench/roofline.h"

namespace lockstep {

struct Profile {
  StepTimes seconds;  // of all runs together
  int runs = 0;
  double wall = 0;  // seconds of all runs together
  // Of a plan with one worker: several share memory and cores.
  std::optional<MachineRates> rates = {};
  std::optional<double> between_cores = {};  // seconds_between_cores(), of a plan for CPUs
};
// A line for each kind of kernel, most time first. With rates also what it reads, writes and
// computes, and how close that is to the rates.
void print_profile(const Plan& plan, const Profile& profile);

}  // namespace lockstep
