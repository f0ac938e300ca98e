// SPDX-License-Identifier: Apache-2.0
// The training steps of a configuration, on its own data: time and memory, first and later steps.
#pragma once

#include <string>
#include <vector>

#include "app/trace/request.h"

namespace lockstep {

struct TrainConfigBench {
  std::string config;                   // CONFIG.yaml
  std::vector<std::string> words = {};  // KEY VALUE ..
  int steps = 5;
  bool profile = false;
  bool as_json = false;
  TraceRequest trace = {};  // of the timed steps
};

// Runs the first steps of a run without its tests and files, all with minibatches of one form.
int bench_train_config(const TrainConfigBench& options);

}  // namespace lockstep
