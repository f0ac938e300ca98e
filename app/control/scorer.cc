// SPDX-License-Identifier: Apache-2.0
#include "app/control/scorer.h"

#include <iostream>

#include "app/control/control_task.h"
#include "app/control/played.h"
#include "app/record/json_text.h"
#include "app/texts.h"
#include "app/train/chosen_run.h"
#include "app/train/own_steps.h"

namespace lockstep {
namespace {

class PolicyScorer final : public Scorer {
 public:
  explicit PolicyScorer(ControlConfig config) : config_(std::move(config)), task_(config_) {}

  const TrainSettings& settings() const override { return config_; }
  std::string series() const override { return config_.output_dir; }
  std::string other_network(const std::string& checkpoint) override {
    if (steps_.empty()) steps_ = task_.steps(1);
    return lockstep::other_network(steps_[0], checkpoint);
  }
  void prepare(Comm* comm) override { steps_ = own_steps(task_, comm); }
  const TrainingModel& step(const std::string& /*weights*/) override { return steps_[0]; }
  std::string score(const Scoring& with) override;

 private:
  ControlConfig config_;
  ControlTask task_;
  std::vector<TrainingModel> steps_;
};

std::string PolicyScorer::score(const Scoring& with) {
  const GreedyResult result = ControlTest(config_, with.session).play();
  if (!with.leads) return "";
  const EpisodeMeans means = means_of(result.episodes);
  std::cout << "mean return " << fixed(means.sum, 2) << " over " << result.episodes.size()
            << " episodes, from " << short_number(means.least) << " to " << short_number(means.most)
            << ", weights " << with.weights << "\n";
  with.print_remarks();
  nlohmann::ordered_json json{{"weights", with.weights},
                              {"environment", config_.environment},
                              {"mean_return", means.sum},
                              {"episode_length", means.steps}};
  for (const Episode& episode : result.episodes)
    json["episodes"].push_back(
        {{"return", episode.sum}, {"steps", episode.steps}, {"cut", episode.cut}});
  return json_text(json);
}

}  // namespace

std::unique_ptr<Scorer> policy_scorer(ControlConfig config) {
  return std::make_unique<PolicyScorer>(std::move(config));
}

}  // namespace lockstep
