// What a run says of its steps: lines on the terminal, rows of metrics.jsonl, TensorBoard's events.
// Of several processes all call alike; rank 0 writes and speaks.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "tools/train/metrics.h"
#include "tools/train/progress.h"
#include "tools/train/tensorboard.h"
#include "tools/train/tensorboard_values.h"
#include "tools/train/training_run.h"

namespace lockstep {

struct LogOptions {
  int64_t first = 0;  // it goes on from this iteration with what is in the run's folder
  bool quiet = false;
};

class TrainingLog {
 public:
  TrainingLog(const TrainConfig& config, Comm* comm, const LogOptions& options);

  void note(const std::string& line);

  // The first window of steps begins now; what reading data took before does not count.
  void start_window(double data_seconds);
  // Before step number `step`: a line where its rate is far from the last one's.
  void rate(int64_t step);
  // After it. Every TRAIN.LOG_ITERS steps are a window, which is written when it closes:
  // whether it did.
  bool step(int64_t step, const StepResult& result, double data_seconds);
  // `seconds`: how long the test took, which is no training time.
  void test(int64_t step, const TestResult& result, double seconds);
  void ended(RunEnd how);

  // What the open window holds, on rank 0 of every process: a run that goes on closes it with the
  // numbers that one which was never stopped has. All processes call alike.
  std::string open_window() const;
  // As a checkpoint has it, or "": then the window holds what comes.
  void go_on_with(const std::string& window);

 private:
  void say_trouble();
  void write_window(int64_t step, double data_seconds);
  void add_up_over_processes();

  TrainConfig config_;
  Comm* comm_;
  bool leads_;
  int64_t first_;
  Progress progress_;
  std::unique_ptr<MetricsFile> metrics_;
  std::unique_ptr<EventWriter> events_;
  std::chrono::steady_clock::time_point start_, window_start_;
  double loss_sum_ = 0, accuracy_sum_ = 0, data_seconds_ = 0;
  // Steps; those whose loss is reported; those that this session timed.
  int64_t window_ = 0, counted_ = 0, timed_ = 0;
  bool trouble_said_ = false;
};

std::string fixed(double value, int digits);
std::string clock_text(double seconds);  // 0:07, 12:30, 2:03:00
double seconds_since(std::chrono::steady_clock::time_point start);

}  // namespace lockstep
