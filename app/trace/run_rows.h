// SPDX-License-Identifier: Apache-2.0
// Turns the times of runs into rows of a trace: one for each worker, with the run, its phases, its
// steps and its waits as nested slices, and arrows around each reduce.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/trace/rank_trace.h"
#include "runtime/exec/run_spans.h"

namespace lockstep {

class RunRows {
 public:
  // Adds rows, labels, arrows and messages to `trace`, which must outlive the object.
  explicit RunRows(RankTrace& trace) : trace_(trace) {}

  // Adds a run that has not failed.
  void add(const RunSpans& run);

  // The milliseconds of a step by kind: means over the training steps, of the worker that waits
  // least. The first number is the whole step.
  std::vector<std::pair<std::string, double>> summary() const;

 private:
  // The facts of a plan that its runs share.
  struct PlanFacts {
    std::shared_ptr<const Plan> plan;         // keeps its address from being used again
    std::vector<int> labels;                  // by step
    std::vector<TraceKind> kinds;             // by step
    std::vector<std::pair<int, int>> arrows;  // from step to step
    std::vector<int> rows;                    // by worker
  };
  const PlanFacts& facts_of(const RunSpans& run);
  int label(TraceLabel label);
  int row_named(const std::string& name);
  TracePlace add_slice(int row, int label, int64_t begins, int64_t ends);
  void add_wait(int row, const std::string& reason, int64_t begins, int64_t ends);
  void add_worker(const RunSpans& run, const PlanFacts& facts, std::size_t worker,
                  std::vector<TracePlace>& places);
  std::string reason_of_wait(const RunSpans& run, const PlanStep& step) const;
  void add_messages(const RunSpans& run, const std::vector<TracePlace>& places);
  TracePlace step_at(const RunSpans& run, const std::vector<TracePlace>& places, int64_t at) const;
  void count(const RunSpans& run, const PlanFacts& facts);

  RankTrace& trace_;
  std::map<const Plan*, PlanFacts> plans_;
  std::map<std::string, int> known_labels_;  // of labels without a step, by name and reason
  int training_steps_ = 0;
  double seconds_ = 0;
  std::map<int, std::map<TraceKind, double>> by_row_;  // seconds of training steps
};

// Waits and gaps shorter than this are not shown, in nanoseconds.
inline constexpr int64_t kShortestWait = 100;

}  // namespace lockstep
