// SPDX-License-Identifier: Apache-2.0
// A profile of a step's time.
#pragma once

#include <optional>

#include "lockstep/session_options.h"
#include "runtime/exec/executor.h"
#include "runtime/plan/plan.h"
#include "tools/bench/roofline.h"

namespace lockstep {

struct Profile {
  StepTimes seconds;  // of all runs together
  int runs = 0;
  double wall = 0;  // seconds of all runs together
  // Rates for a plan with one worker: several workers share memory and cores.
  std::optional<MachineRates> rates = {};
  std::optional<double> between_cores = {};  // seconds_between_cores(), of a plan for CPUs
};
// Prints a line for each kind of kernel, most time first. With rates also prints bytes and
// operations per second, and the percentage of the best rate.
void print_profile(const Plan& plan, const Profile& profile);
// Prints a line for each phase of a training step: forward, backward, update.
void print_phases(const Plan& plan, const Profile& profile);
// Prints the values that fill the largest arena when it is fullest, by the operators that make
// them.
void print_fullest(const Plan& plan);

}  // namespace lockstep
