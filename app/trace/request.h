// SPDX-License-Identifier: Apache-2.0
// The words that ask for a trace: --trace FILE --trace-steps 100:105.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lockstep {

// Iterations as a log counts them, from 1; both ends belong to the trace.
struct TracedSteps {
  int64_t first = 1, last = 1;
  int64_t count() const { return last - first + 1; }
};

struct TraceRequest {
  std::string file;   // "": no trace
  std::string steps;  // FIRST:LAST or one number; "": chosen by the command
  // The command was started again by itself to go on, so iterations may have passed.
  bool continues = false;

  bool is_asked() const { return !file.empty(); }
};

// The most iterations of a trace. Viewers become slow before.
inline constexpr int64_t kMostTracedSteps = 1000;

// Returns the iterations of a run that begins with iteration `first` and ends with `last`. By
// default these are five iterations that follow the first two of the run, which plan and touch
// memory for the first time, or the last iterations of a shorter run. Throws naming the option for
// a malformed text, and for iterations that the run does not have. Of a request that continues,
// iterations before `first` are left out; there may be none left.
TracedSteps traced_steps(const TraceRequest& request, int64_t first, int64_t last);

// A line for the user if iterations of the request passed before iteration `first`; else "".
std::string note_of_passed(const TraceRequest& request, int64_t first);

// Checks the file before any work is done.
void check_trace_file(const TraceRequest& request);

}  // namespace lockstep
