// SPDX-License-Identifier: Apache-2.0
// The times of a plan's steps, predicted: a list schedule over the plan's workers and waits.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "graph/phases.h"
#include "runtime/plan/plan.h"

namespace lockstep {

// The work of a worker in a second, and the seconds that each step takes besides.
struct WorkerRates {
  double operations = 0;         // products of float32
  double narrow_operations = 0;  // products of 16-bit floats
  double bytes = 0;              // read and written
  double start = 0;
};
struct PlanRates {
  WorkerRates computes, communicates;
};
// Round figures of a usual device of this kind, for the threads of the plan's workers.
PlanRates usual_rates(const Plan& plan);
// "60 GFLOP/s, 10 GB/s, 1 us for each step"
std::string text_of(const WorkerRates& rates);

// Seconds of each step: its products or its bytes, whichever take longer. Other operations take
// less time than the bytes that they need.
std::vector<double> predicted_seconds(const Plan& plan, const PlanRates& rates);

struct PlacedStep {
  double begins = 0, ends = 0;  // seconds after the begin of the run
  int awaited = -1;  // the step of another worker that decides when this one begins; -1: none
};
struct PlanTimeline {
  std::vector<PlacedStep> steps;  // as Plan::steps
  double seconds = 0;             // of the whole run
};

// Each worker runs its steps in order. A step begins as soon as its worker is free and its waits
// are over. Throws for a wait for a later step.
PlanTimeline place_steps(const Plan& plan, const std::vector<double>& seconds);

// The number of the step that a wait is for.
int awaited_step(const Plan& plan, const Wait& wait);

// Figures of a timeline. Communication is exposed while a worker that computes runs a step of the
// phase `reduce`, or waits for one.
struct TimelineFigures {
  std::array<double, kPhases> busy{};  // seconds, of the worker that computes longest
  double waiting = 0;                  // of that worker
  int busiest = -1;                    // that worker
  double exposed = 0;                  // seconds, on the worker with the most
  int exposed_on = -1;
  int latest_reduce = -1;     // the step; -1: nothing is reduced
  double after_backward = 0;  // from the end of all backward steps to its end
};
TimelineFigures figures_of(const Plan& plan, const PlanTimeline& timeline,
                           const std::vector<Phase>& phases);

}  // namespace lockstep
