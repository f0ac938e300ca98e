// SPDX-License-Identifier: Apache-2.0
// Training of networks that control an environment.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/control/control_config.h"
#include "app/control/control_rounds.h"
#include "app/control/policy_program.h"
#include "app/train/task.h"
#include "lockstep/episodes.h"

namespace lockstep {

// The step for the replicas of all processes.
TrainingModel build_control_model(const ControlConfig& config, int processes = 1);

// Fresh episodes of the current network, divided over the replicas of all processes. All processes
// make the same calls and get equal results; only rank 0 has the film.
class ControlTest {
 public:
  // `config` and `session` must outlive this object.
  ControlTest(const ControlConfig& config, Session& session);
  GreedyResult play();

 private:
  const ControlConfig& config_;
  Session& session_;
  int64_t first_, count_;  // of this process's episodes; episodes beyond the last make shares equal
  PolicyProgram policy_;
};

class ControlTask final : public Task {
 public:
  explicit ControlTask(ControlConfig config) : config_(std::move(config)) {}

  const TrainSettings& settings() const override { return config_; }
  LrSchedule& schedule() override { return config_.schedule; }
  ConfigKeys keys() override { return keys_of(config_); }
  std::vector<std::pair<std::string, std::string>> changed() override;
  std::string series() const override { return config_.output_dir; }
  std::string network() const override { return config_.model; }
  std::string data() const override { return config_.environment; }
  int64_t images_of_step() const override { return config_.rows(); }
  WorkUnit work_unit() const override { return {"transitions", images_of_step()}; }

  void prepare() override;
  std::vector<TrainingModel> steps(int processes) const override;
  std::optional<WeightsOptions> first_weights() const override;

  void open(Session& session, const Rows& rows) override;
  std::map<std::string, std::string> metadata() const override;
  Rounds* rounds() override { return rounds_.get(); }
  const MinibatchSource& minibatches() const override;
  int reading_threads() const override { return 0; }
  std::string threads_key() const override { return ""; }
  std::vector<std::string> notes() const override;
  NamedTexts examples() const override;
  Dims picture() const override { return {config_.kind().observations}; }

  std::string text_of(double loss, const NamedNumbers& numbers) const override;
  ScoreKind score_kind() const override;
  std::string text_of_score(double score) const override;
  std::vector<CurveChart> charts() const override;
  HeldOutTest test(int64_t iterations) override;
  bool is_enough(const HeldOutTest& result) const override;

 private:
  ControlConfig config_;
  std::unique_ptr<ControlRounds> rounds_;
  std::unique_ptr<ControlTest> test_;
};

}  // namespace lockstep
