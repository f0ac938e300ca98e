// SPDX-License-Identifier: Apache-2.0
// The log of a run's steps: lines on the terminal, rows of metrics.jsonl, TensorBoard events. With
// several processes all make the same calls; rank 0 writes.
#pragma once

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "app/record/metrics.h"
#include "app/record/tensorboard.h"
#include "app/record/tensorboard_values.h"
#include "app/train/progress.h"
#include "app/train/slowest_rank.h"
#include "app/train/task.h"
#include "app/train/training_run.h"
#include "lockstep/processes.h"
#include "operators/kit/window.h"

namespace lockstep {
struct LogOptions {
  std::string folder;
  int64_t first = 0;  // continues from this iteration with the content of the run's folder
  bool quiet = false;
};

class TrainingLog {
 public:
  // `task` must outlive the log; `numbers` are TrainingRun::number_names().
  TrainingLog(Task& task, const std::vector<std::string>& numbers, Comm* comm,
              const LogOptions& options);

  void note(const std::string& line);

  // Starts the first window of steps; earlier waiting for data, and earlier steps, do not count.
  void start_window(const DataSupply& supply, const RankTimes& spent = {});
  // Called before step number `step`: logs a rate far from the previous rate.
  void rate(int64_t step);
  // Called after the step. TRAIN.LOG_ITERS steps form a window, which is written when it closes.
  // Returns true if a window closed.
  // `spent`: the times of all steps so far. With several processes the log names the slowest rank.
  bool step(int64_t step, const StepResult& result, const DataSupply& supply,
            const RankTimes& spent = {});
  // Time that does not count as training time.
  void pause(double seconds);
  // `seconds` is the duration of the test, which does not count as training time.
  void test(int64_t step, const HeldOutTest& result, double seconds);
  void ended(RunEnd how);

  // Names the pictures that minibatches of the steps up to `last` lack, each once. A window that
  // closes calls this, too. All processes make the same call.
  void tell_skipped(int64_t last);
  // The pictures that this run could not read, on rank 0; "" if there are none.
  std::string bad_pictures() const;

  // The open window of every process, on rank 0. With this text a resumed run logs the numbers of
  // an uninterrupted run. All processes make the same call.
  std::string open_window() const;
  // Restores a checkpoint's open window; "" starts an empty window.
  void go_on_with(const std::string& window);

 private:
  std::string text_of_sums() const;
  void say_trouble();
  void write_window(int64_t step, const DataSupply& supply);
  void say_slow_loader(double share);
  void add_up_over_processes(const RankTimes& window);

  Task& task_;
  const TrainSettings& settings_;
  std::vector<std::string> number_names_;
  Comm* comm_;
  bool leads_;
  int64_t first_;
  Progress progress_;
  std::unique_ptr<MetricsFile> metrics_;
  std::unique_ptr<EventWriter> events_;
  std::chrono::steady_clock::time_point start_, window_start_;
  double waited_ = 0;  // for data, before the window began
  RankTimes spent_;    // before the window began
  SlowestRankWatch slowest_;
  std::vector<double> sums_;  // of the loss, then of the numbers
  // Steps in the window, steps with a loss that counts, and steps timed by this session.
  int64_t window_ = 0, counted_ = 0, timed_ = 0;
  std::vector<std::string> skipped_, left_out_;  // training pictures, held-out pictures
  std::set<std::string> told_;                   // pictures reported so far
  int64_t skipped_rows_ = 0;
  bool trouble_said_ = false, loader_said_ = false, window_written_ = false;
};

}  // namespace lockstep
