// SPDX-License-Identifier: Apache-2.0
// The time of a training step, on random images, or sequences for an LSTM.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/trace/request.h"
#include "runtime/plan/planned_memory.h"

namespace lockstep {

struct TrainStepBench {
  std::string model = "resnet50";
  std::string devices = "cpu";
  int64_t batch = 16;
  int threads = 0;  // per replica; 0: an equal share of the cores
  int steps = 5;
  std::string precision = "float32";
  bool tf32 = false;
  bool exact = false;
  bool bytes = false;             // images as bytes, which the step normalises
  std::string feed = "resident";  // or ahead, in_turn: see --feed
  bool profile = false;
  bool as_json = false;
  TraceRequest trace;  // of the timed steps
};

inline const std::vector<std::string> kFeeds{"resident", "ahead", "in_turn"};

struct TrainStepTimes {
  int threads = 0;  // per replica
  double median = 0, fastest = 0, host = 0;
  double first = 0;            // from the start of the benchmark to the end of the first step
  std::size_t most_bytes = 0;  // peak memory of the process
  // The growth of the process's peak over its size before planning, and its prediction.
  std::size_t grown_bytes = 0;
  PlannedMemory predicted = {};
};
// Prints the profile if the options ask for it.
TrainStepTimes time_train_step(const TrainStepBench& options);

// Repeats the training steps of a file, a line of `bench train-step --json` for each, and compares
// their times. Returns 1 if a step has become slower by a tenth, and stays slower.
int bench_against(const std::string& file, const TrainStepBench& options);

}  // namespace lockstep
