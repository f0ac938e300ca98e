// SPDX-License-Identifier: Apache-2.0
// The iterations of a run that learns to control. Each iteration collects steps of all environments
// with the current policy, loads them onto the devices, and sweeps over them several times.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "app/control/control_config.h"
#include "app/control/played.h"
#include "app/control/policy_program.h"
#include "app/train/rounds.h"
#include "lockstep/episodes.h"
#include "lockstep/processes.h"
#include "lockstep/resident.h"
#include "lockstep/session_options.h"

namespace lockstep {

class ControlRounds final : public Rounds {
 public:
  // Plays `count` environments from number `first` on. `config` and `session` must outlive this
  // object.
  ControlRounds(const ControlConfig& config, Session& session, int64_t first, int64_t count);

  // The division of an iteration's rows over replicas and minibatches.
  const ResidentLoad& shares() const { return shares_; }

  std::vector<std::string> number_names() const override;
  StepResult run(int64_t round, NotFinite* not_finite) override;
  double gathering_seconds() const override { return gathering_; }
  std::string text() override;
  void restore(const std::string& text) override;

 private:
  // The batch of the whole run. This process fills only its own replicas' rows.
  struct Batch {
    std::vector<float> observations, log_probabilities, advantages, targets;
    std::vector<int64_t> actions;
  };
  void begin();
  void fill(const Rollout& rollout, const Spread& spread, int64_t round);
  void load();
  StepResult sweep(int64_t round, NotFinite* not_finite);
  void add_episode_numbers(StepResult& result, int64_t ended);
  bool leads() const { return !session_.comm() || session_.comm()->rank() == 0; }

  const ControlConfig& config_;
  Session& session_;
  const EnvironmentKind& kind_;
  int64_t first_, count_;
  ResidentLoad shares_;
  ResidentBatch resident_;
  PolicyProgram policy_;
  std::unique_ptr<Environments> environments_;
  std::unique_ptr<Collector> collector_;
  Batch batch_;
  std::vector<Episode> recent_;  // the last episodes that ended, of all processes
  double gathering_ = 0;
};

}  // namespace lockstep
