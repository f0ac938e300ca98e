// The benchmarks behind `lockstep bench NAME`.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

// How long it takes to build a step graph.
int bench_build_graph(bool as_json);

struct TrainStepBench {
  std::string model = "resnet50";
  std::string devices = "cpu";
  int64_t batch = 16;
  int threads = 0;  // per replica; 0: an equal share of the cores
  int steps = 5;
  bool profile = false;
};
// How long a training step takes, on random images.
int bench_train_step(const TrainStepBench& options, bool as_json);

}  // namespace lockstep
