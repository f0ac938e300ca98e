// SPDX-License-Identifier: Apache-2.0
// The benchmarks behind `lockstep bench NAME`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

// The time to build a step graph.
struct BuildGraphOptions {
  std::string model = "";  // "": an MLP of 500 operators
  int replicas = 64;       // at most
  bool as_json = false;
};
int bench_build_graph(const BuildGraphOptions& options);

// The time to sum so many megabytes over replicas, compared with copying memory; with several
// processes (lockstep launch), over those, compared with Gloo's own ring.
struct AllReduceBench {
  std::string devices = "cpu*4";
  double megabytes = 102.334368;  // ResNet-50's gradients
  int runs = 9;
  bool as_json = false;
};
int bench_all_reduce(const AllReduceBench& options);

// The time of a step whose embedding is summed over the replicas as a whole, or by its rows; with
// several processes, over those.
struct EmbeddingBench {
  std::string devices = "cpu*2";
  int64_t words = 50'000;  // of the table
  int steps = 201;
  bool as_json = false;
};
int bench_embedding(const EmbeddingBench& options);

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
  std::string feed = "resident";  // or ahead, in_turn: see bench.cc
  bool profile = false;
};
// The time of a training step, on random images, or sequences for an LSTM.
int bench_train_step(const TrainStepBench& options, bool as_json);

struct TrainStepTimes {
  int threads = 0;  // per replica
  double median = 0, fastest = 0, host = 0;
  double first = 0;            // from the start of the benchmark to the end of the first step
  std::size_t most_bytes = 0;  // that the process has had in memory
};
// Prints the profile if the options ask for it.
TrainStepTimes time_train_step(const TrainStepBench& options);

// Takes the training steps of a file again, which has a line of `bench train-step --json` for each,
// and prints how their times compare. 1 if a step has become slower by a tenth, and stays so.
int bench_against(const std::string& file, const TrainStepBench& options);

// The time of reading and planning for graphs of up to so many nodes.
int bench_plan_growth(int most, bool as_json);

struct ResidentBench {
  std::vector<std::string> networks{"mlp", "lenet", "lstm"};
  std::string devices = "cpu";
  int64_t rows = 6400;  // of the batch
  int64_t batch = 64;   // rows of a minibatch, over all devices
  int64_t epochs = 10;
  int threads = 0;  // per replica; 0: an equal share of the cores
  bool as_json = false;
};
// The time of sweeps over a batch that stays on the devices, and of feeding the same minibatches.
int bench_resident(const ResidentBench& options);

// The time of a detector's operators on an input of 800 x 1344.
int bench_detection_operators(bool as_json);

}  // namespace lockstep
