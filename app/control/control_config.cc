// SPDX-License-Identifier: Apache-2.0
#include "app/control/control_config.h"

#include <filesystem>

#include "app/config/read.h"
#include "app/train/read_settings.h"
#include "builders/all_reduce/all_reduce.h"

namespace lockstep {
namespace {

constexpr int64_t kMostRowsOfIteration = int64_t{1}
                                         << 28;  // of an iteration: gigabytes of observations

// Checks that whole environments and minibatches divide equally over the replicas.
void check_shares(const ControlConfig& config, int processes) {
  const int64_t replicas = config.replicas() * processes;
  const Phrase of_all =
      phrase(replicas, " replicas of ", processes == 1 ? "" : join(processes, " processes with "),
             Key{"DEVICES"}, " ", config.run.devices.text);
  const Key batch{"TRAIN.BATCH_SIZE"};
  const Phrase rows =
      phrase(Key{"CONTROL.ENVIRONMENTS"}, " ", config.environments, " with ", Key{"CONTROL.STEPS"},
             " ", config.steps, " make ", config.rows(), " rows");
  check(config.environments % replicas == 0, Key{"CONTROL.ENVIRONMENTS"}, " ", config.environments,
        " cannot be split equally over the ", of_all);
  check(config.batch_size % replicas == 0, batch, " ", config.batch_size,
        " cannot be split equally over the ", of_all);
  check(config.rows() <= kMostRowsOfIteration, rows, " in an iteration, should be at most ",
        kMostRowsOfIteration);
  check(config.batch_size <= config.rows(), batch, " ", config.batch_size,
        " is larger than the batch of an iteration: ", rows);
  check(config.step.options.micro_batches == 1, Key{"TRAIN.MICRO_BATCHES"}, " is ",
        config.step.options.micro_batches,
        ", but minibatches are slices of a batch on the devices; lower ", batch, " instead");
}

void check_together(const ControlConfig& config, int processes) {
  check(config.model == kActorCritic, Key{"MODEL.TYPE"}, " is ", config.model, ", should be ",
        kActorCritic);
  naming("CONTROL.ENVIRONMENT", [&] { config.kind(); });
  check_shares(config, processes);
  check_fits(config.step, config.run, processes);
  check(config.loss.clip > 0 && config.loss.clip < 1, Key{"CONTROL.CLIP"}, " is ", config.loss.clip,
        ", should be between 0 and 1");
  check_solver(config.optimizer);
  check_rates(config.schedule);
}

}  // namespace

ControlConfig::ControlConfig() {
  optimizer.type = "Adam";
  step.options.rules.weight_decay = 0;
  step.options.clip.norm = 0.5F;
  schedule.max_iter = 120;
  schedule.policy = "cosine_decay";
  snapshot_iters = 20;
  log_iters = 5;
  test_iters = 20;
}

ControlConfig read_control_config(const ConfigFiles& files, const std::vector<std::string>& words,
                                  int processes, Origins& origins) {
  return read_settings<ControlConfig>(
      files, words, origins, [&](ControlConfig& config) { check_together(config, processes); });
}

}  // namespace lockstep
