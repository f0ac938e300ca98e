// SPDX-License-Identifier: Apache-2.0
// The trace of some iterations of a training run. Comparing clocks and writing the file is no
// training time.
#pragma once

#include <functional>
#include <string>

#include "app/report/run_plan.h"
#include "app/trace/steps_trace.h"
#include "app/train/presentation.h"
#include "app/train/training_log.h"
#include "app/train/training_run.h"
#include "lockstep/processes.h"

namespace lockstep {

class TrainingTrace {
 public:
  // The run has the iterations `possible`. All arguments must outlive the trace; `comm` is null for
  // a single process. All ranks make the same calls.
  TrainingTrace(const TraceRequest& request, TrainingRun& run, const WorkUnit& unit, Comm* comm,
                TrainingLog& log, TracedSteps possible);

  // The listener gets the numbers of a trace that was written, on rank 0.
  void tell(std::function<void(const TraceSummary&)> listener) { listener_ = std::move(listener); }

  // Around step number `step`, from 0.
  void before(int64_t step);
  void after(int64_t step);
  // Ends the trace of a run that ends before its last traced iteration.
  void end();
  // A slice of the loop's row, beside the iterations, that ends now.
  void add(const std::string& name, int64_t begins);

 private:
  TrainingRun& run_;
  TrainingLog& log_;
  double units_;  // of this process in a step
  StepsTrace trace_;
  std::string file_;
  std::function<void(const TraceSummary&)> listener_;
};

}  // namespace lockstep
