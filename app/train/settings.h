// SPDX-License-Identifier: Apache-2.0
// Settings of all training runs.
#pragma once

#include <cstdint>
#include <string>

#include "app/config/key.h"
#include "app/config/step_settings.h"
#include "app/train/solver.h"
#include "lockstep/feeds.h"
#include "lockstep/optimizers.h"
#include "lockstep/processes.h"
#include "lockstep/session.h"
#include "lockstep/session_options.h"

namespace lockstep {

struct TrainSettings {
  std::string path;  // of the CONFIG.yaml
  std::string output_dir;
  RunSettings run;
  StepSettings step;
  int64_t seed = 3;

  Solver optimizer;
  LrSchedule schedule;
  double log_lr_change_threshold = 1.1;

  bool resident = false;  // the training set stays on the devices: resident_set.h

  int64_t snapshot_iters = 200;
  int64_t log_iters = 20;
  int64_t drift_iters = 100;
  int64_t test_iters = 200;
  int64_t patience = 0;  // tests without a better score that end the run; 0: none

  int64_t replicas() const { return static_cast<int64_t>(run.devices.list.size()); }
};

// Throws naming the key that needs a share for each replica and part, or equal shares. `examples`
// is the plural of a minibatch's rows for people.
void check_shares(const BatchShares& shares, const TrainSettings& settings, int processes,
                  const char* examples);
// Throws naming the invalid key of SOLVER.
void check_rates(const LrSchedule& schedule);
// The keys of SOLVER; weight decay and clipping are keys of the step.
ConfigKeys solver_keys(TrainSettings& settings);
// OUTPUT_DIR and RNG_SEED. `seeded` lists the uses of the seed.
ConfigKeys run_keys(TrainSettings& settings, const std::string& seeded);
// TRAIN.LOG_ITERS, TRAIN.DRIFT_ITERS, TEST.ITERS and TEST.PATIENCE.
ConfigKeys loop_keys(TrainSettings& settings);

// Keys with another value than in `defaults`, as texts. Leaves out OUTPUT_DIR, which differs in
// every run.
std::vector<std::pair<std::string, std::string>> changed_settings(const ConfigKeys& keys,
                                                                  const ConfigKeys& defaults);

// `threads` is the number for each replica; 0: an equal share of the cores.
SessionOptions session_options(const TrainSettings& settings, int threads, Comm* comm);

}  // namespace lockstep
