// SPDX-License-Identifier: Apache-2.0
// A scorer of a task with a step that does not depend on the weights.
#pragma once

#include <utility>
#include <vector>

#include "app/predict/scorer.h"
#include "app/train/chosen_run.h"
#include "app/train/partitioned_steps.h"
#include "lockstep/processes.h"

namespace lockstep {

template <class Config, class TaskOfConfig>
class TaskScorer : public Scorer {
 public:
  explicit TaskScorer(Config config) : config_(std::move(config)), task_(config_) {}

  const TrainSettings& settings() const override { return config_; }
  std::string series() const override { return config_.output_dir; }
  std::string other_network(const std::string& checkpoint) override {
    if (steps_.empty()) steps_ = task_.steps(1);
    return lockstep::other_network(steps_[0], checkpoint);
  }
  void prepare(Comm* comm) override { steps_ = own_steps(task_, comm); }
  const TrainingModel& step(const std::string& /*weights*/) override { return steps_[0]; }

 protected:
  const Config& config() const { return config_; }
  TaskOfConfig& task() { return task_; }

 private:
  Config config_;
  TaskOfConfig task_;
  std::vector<TrainingModel> steps_;
};

}  // namespace lockstep
