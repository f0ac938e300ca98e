// SPDX-License-Identifier: Apache-2.0
#include "app/train/training_trace.h"

#include <chrono>
#include <exception>

#include "app/format.h"
#include "lockstep/error.h"
#include "runtime/nanoseconds.h"

namespace lockstep {

TrainingTrace::TrainingTrace(const TraceRequest& request, TrainingRun& run, const WorkUnit& unit,
                             Comm* comm, TrainingLog& log, TracedSteps possible)
    : run_(run),
      log_(log),
      units_(static_cast<double>(unit.of_step) / (comm ? comm->size() : 1)),
      trace_(request, run.session(), possible, unit.name, comm),
      file_(request.file) {
  if (const std::string line = note_of_passed(request, possible.first); !line.empty())
    log_.note(line);
}

void TrainingTrace::before(int64_t step) {
  const auto start = std::chrono::steady_clock::now();
  if (!trace_.before(step + 1)) return;
  run_.trace_by(trace_.recorder());
  log_.pause(seconds_since(start));
}

void TrainingTrace::after(int64_t step) {
  if (trace_.after(step + 1, units_)) end();
}

void TrainingTrace::end() {
  if (!trace_.recorder()) return;
  const auto start = std::chrono::steady_clock::now();
  run_.trace_by(nullptr);
  const std::vector<RankTrace> ranks = trace_.end();
  if (!ranks.empty()) try {
      for (const std::string& line : trace_.write(ranks)) log_.note(line);
      if (listener_) listener_(summary_of(ranks, file_, trace_.steps()));
    } catch (const std::exception& error) {  // a full disk or memory must not end the training
      log_.note(join("the trace was not written: ", error.what()));
    }
  log_.pause(seconds_since(start));
}

void TrainingTrace::add(const std::string& name, int64_t begins) {
  if (TraceRecorder* const recorder = trace_.recorder())
    recorder->add(name, TraceKind::other, begins, nanoseconds_now());
}

}  // namespace lockstep
