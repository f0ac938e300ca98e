// SPDX-License-Identifier: Apache-2.0
// The times of a run's steps (declared in training_run.h).
#include <algorithm>

#include "app/trace/recorder.h"
#include "app/train/training_run.h"
#include "runtime/nanoseconds.h"
#include "runtime/state/session_members.h"

namespace lockstep {

// The session's steps know how long they waited for other workers. All other time but the wait for
// data counts as computation. Devices with queues wait by themselves, which the host does not see.
StepResult TrainingRun::timed_step(int64_t step) {
  const RunTotals& runs = session_->members().totals;
  const int64_t begins = nanoseconds_now();
  const double waited_before = runs.waited, data_before = supply().waited;
  StepResult result = run_step(step);
  const double seconds = static_cast<double>(nanoseconds_now() - begins) * 1e-9;
  const double waited = runs.waited - waited_before, data = supply().waited - data_before;
  spent_ += {std::max(seconds - waited - data, 0.0), data, waited, 1,
             session_->devices()[0].info().has_queues};
  return result;
}

void TrainingRun::trace_by(TraceRecorder* recorder) {
  if (loader_) {
    const std::vector<ItemSpan> items = loader_->record(recorder != nullptr);
    if (recorder_) recorder_->add(items);
  }
  recorder_ = recorder;
}

}  // namespace lockstep
