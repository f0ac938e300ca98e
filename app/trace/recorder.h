// SPDX-License-Identifier: Apache-2.0
// Records the trace of one process, for a number of iterations. The times are raw until the end:
// nothing is formatted while iterations run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "app/trace/rank_trace.h"
#include "lockstep/loader.h"
#include "lockstep/processes.h"
#include "lockstep/session.h"
#include "runtime/exec/run_spans.h"
#include "runtime/nanoseconds.h"

namespace lockstep {

// The steps of plans that a trace has, of all its runs and ranks. A trace of this size has some
// 200 MB, which rank 0 joins in memory.
inline constexpr std::size_t kMostRecorded = 1'000'000;

struct RecorderOptions {
  std::string unit = "examples";  // of the counter: images/s
  // The clock of this process, from nanoseconds_now(). Tests pass clocks that are wrong.
  std::function<int64_t(int64_t)> clock = [](int64_t steady) { return steady; };
  std::size_t most_recorded = kMostRecorded;  // of all ranks; a rank has its share
};

class TraceRecorder final : public RunRecorder {
 public:
  // Compares the clocks and begins to record the session's runs. All processes make the same calls.
  // `session` and `comm` must outlive the recorder; `comm` is null for a single process.
  TraceRecorder(Session& session, Comm* comm, RecorderOptions options);
  ~TraceRecorder() override;
  TraceRecorder(const TraceRecorder&) = delete;

  // Around an iteration of the loop. `units`: this process's examples.
  void begin_iteration(int64_t number);
  void end_iteration(double units);
  // A slice of the loop's row.
  void add(const std::string& name, TraceKind kind, int64_t begins, int64_t ends);
  // Items that a loader has read.
  void add(const std::vector<ItemSpan>& items);

  RunSpans* begin_run() override;

  // Ends the recording and compares the clocks again. The trace is on the common clock. If it
  // cannot be made, RankTrace::missing says why: the other ranks, which make the same calls, go on.
  RankTrace end();

 private:
  struct LoopSlice {
    std::string name;
    TraceKind kind;
    int64_t begins, ends;
  };
  int64_t local_clock() const { return options_.clock(nanoseconds_now()); }
  RankTrace empty_trace() const;
  void write(RankTrace& trace, const CommonClock& common) const;
  void write_loop(RankTrace& trace) const;
  void write_items(RankTrace& trace) const;

  Session& session_;
  Comm* comm_;
  const RecorderOptions options_;
  ClockPoint first_;
  std::deque<RunSpans> runs_;        // a deque: begin_run() gives addresses away
  const std::size_t most_recorded_;  // of this rank
  std::size_t recorded_steps_ = 0;
  int64_t left_out_ = 0;
  std::vector<LoopSlice> loop_;
  std::vector<ItemSpan> items_;
  TraceCounter memory_{"memory", "MiB"}, speed_;
  int64_t iteration_ = 0, iteration_begins_ = 0, last_end_ = 0;
};

}  // namespace lockstep
