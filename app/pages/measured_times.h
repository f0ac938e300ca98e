// SPDX-License-Identifier: Apache-2.0
// The times of a plan's steps as a trace has them (docs/traces.md).
#pragma once

#include <string>

#include "app/pages/plan_timeline.h"
#include "app/trace/run_facts.h"
#include "runtime/plan/plan.h"

namespace lockstep {

struct MeasuredTimes {
  PlanTimeline timeline;
  std::string run;   // "step 4": the traced run of median length
  int runs = 0;      // of the plan
  int left_out = 0;  // runs of the same program with another plan, such as another batch
};

// `text`: the trace of one process, `name`: its file, for errors. Throws if the trace is damaged or
// of several processes, or if no run has the plan's steps with their operators and shapes; the
// error names the first difference of the run that agrees longest.
MeasuredTimes measured_times(const Plan& plan, RunProgram program, const std::string& text,
                             const std::string& name);

}  // namespace lockstep
