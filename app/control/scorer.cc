// SPDX-License-Identifier: Apache-2.0
#include "app/control/scorer.h"

#include <iostream>

#include "app/control/control_task.h"
#include "app/control/played.h"
#include "app/format.h"
#include "app/predict/task_scorer.h"
#include "app/record/json_text.h"

namespace lockstep {
namespace {

class PolicyScorer final : public TaskScorer<ControlConfig, ControlTask> {
 public:
  using TaskScorer::TaskScorer;
  std::string score(const Scoring& with) override;
};

std::string PolicyScorer::score(const Scoring& with) {
  const GreedyResult result = ControlTest(config(), with.session).play();
  if (!with.leads) return "";
  const EpisodeMeans means = means_of(result.episodes);
  std::cout << "mean return " << fixed(means.sum, 2) << " over " << result.episodes.size()
            << " episodes, from " << short_number(means.least) << " to " << short_number(means.most)
            << ", weights " << with.weights << "\n";
  with.print_remarks();
  nlohmann::ordered_json json{{"weights", with.weights},
                              {"environment", config().environment},
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
