// SPDX-License-Identifier: Apache-2.0
// The trace of some iterations of a loop over a session's steps.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "app/trace/recorder.h"
#include "app/trace/request.h"
#include "app/trace/trace_file.h"
#include "lockstep/processes.h"
#include "lockstep/session.h"

namespace lockstep {

class StepsTrace {
 public:
  // The loop has the iterations `possible`. With several processes the request of rank 0 counts for
  // all ranks, which make the same calls. `session` and `comm` must outlive the trace; `comm` is
  // null for a single process. `unit`: of the examples of a step, plural.
  StepsTrace(TraceRequest request, Session& session, TracedSteps possible, std::string unit,
             Comm* comm = nullptr);

  // Called before each iteration. Returns true if the trace begins with this iteration.
  bool before(int64_t iteration);
  // Called after each iteration. `units`: this process's examples. Returns true if this was the
  // last traced iteration: the caller then ends the trace.
  bool after(int64_t iteration, double units);
  // Null while nothing is traced.
  TraceRecorder* recorder() { return recorder_.get(); }
  // The iterations of the trace that has ended.
  const TracedSteps& steps() const { return steps_; }
  // Ends the trace, even before the last iteration. Returns the traces of all ranks on rank 0.
  std::vector<RankTrace> end();
  // Writes the file of these traces. Returns lines for the user. Throws if it cannot be written.
  std::vector<std::string> write(const std::vector<RankTrace>& ranks) const;

 private:
  TraceRequest request_;
  Session& session_;
  std::string unit_;
  Comm* comm_;
  TracedSteps steps_{1, 0};  // no iteration if nothing is traced
  int64_t traced_ = 0;
  std::unique_ptr<TraceRecorder> recorder_;
};

// The trace of a single process's loop, which prints the lines for the user to `out`.
class PrintedTrace {
 public:
  PrintedTrace(const TraceRequest& request, Session& session, TracedSteps possible,
               std::ostream& out)
      : trace_(request, session, possible, "examples"), out_(out) {}

  template <class Step>
  void around(int64_t iteration, double examples, const Step& step) {
    trace_.before(iteration);
    step();
    if (trace_.after(iteration, examples)) print();
  }

 private:
  void print();

  StepsTrace trace_;
  std::ostream& out_;
};

}  // namespace lockstep
