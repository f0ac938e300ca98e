// SPDX-License-Identifier: Apache-2.0
#include "app/train/step_result.h"

namespace lockstep {
namespace {

// The sum of the losses is reported as the loss. Of several losses one may have this name, too: the
// sum and the other losses tell its value.
bool is_reported(const Replicated& loss) { return loss.name != "loss"; }

}  // namespace

std::vector<std::string> numbers_of(const TrainingModel& model) {
  std::vector<std::string> names;
  if (model.losses.size() > 1)
    for (const Replicated& loss : model.losses)
      if (is_reported(loss)) names.push_back(loss.name);
  for (const Replicated& metric : model.metrics) names.push_back(metric.name);
  return names;
}

StepResult result_of(const TrainingModel& model, const Results& answers) {
  StepResult result;
  result.loss = answers.loss();
  if (model.losses.size() > 1)
    for (const Replicated& loss : model.losses)
      if (is_reported(loss)) result.numbers.push_back(answers.loss(loss.name));
  for (const Replicated& metric : model.metrics)
    result.numbers.push_back(answers.share_of_metric(metric.name));
  if (const auto skipped = answers.skipped()) {
    result.skipped_here = skipped->replica >= 0;
    result.skipped = result.skipped_here ? join("the gradient '", skipped->gradient,
                                                "' of replica ", skipped->replica, " is not finite")
                                         : "a gradient of another process is not finite";
  }
  return result;
}

}  // namespace lockstep
