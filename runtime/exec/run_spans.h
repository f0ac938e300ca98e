// SPDX-License-Identifier: Apache-2.0
// The times of a run: when each step of a plan began and ended, and since when its worker waited
// for the step's turn. Traces are made of these times. All times are nanoseconds_now().
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lockstep/processes.h"
#include "lockstep/training_model.h"
#include "runtime/plan/plan.h"

namespace lockstep {

struct StepSpan {
  int64_t waits = 0;  // the worker turned to the step: at the end of the step before
  int64_t begins = 0, ends = 0;
};

struct RunSpans {
  std::shared_ptr<const Plan> plan;
  const TrainingModel* model = nullptr;  // of the program that ran
  uint64_t step = 0;                     // RunContext::step
  int64_t begins = 0, ends = 0;          // `ends` is 0 if the run failed
  std::vector<StepSpan> steps;           // by the step's number in the plan
  std::vector<MessageSpan> messages;     // to and from other processes
  // Asynchronous devices: the steps' times are the device's, which are known up to this error.
  // Zero: times of the host.
  int64_t device_error = 0;
  // The run launched every kernel, although other runs replay a recording.
  bool is_unrecorded = false;
};

// Is told about each run of a session's programs.
class RunRecorder {
 public:
  virtual ~RunRecorder() = default;
  // Called before a run. Returns the place for the run's times, valid until the run ends, or null
  // if the run is not recorded.
  virtual RunSpans* begin_run() = 0;
};

}  // namespace lockstep
