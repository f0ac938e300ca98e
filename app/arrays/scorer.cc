// SPDX-License-Identifier: Apache-2.0
#include "app/arrays/scorer.h"

#include <iostream>

#include "app/arrays/task.h"
#include "app/format.h"
#include "app/predict/task_scorer.h"
#include "app/record/json_text.h"

namespace lockstep {
namespace {

class ArraysScorer final : public TaskScorer<ArraysConfig, ArraysTask> {
 public:
  using TaskScorer::TaskScorer;
  std::string other_network(const std::string& checkpoint) override {
    if (!prepared_) task().prepare();
    prepared_ = true;
    return TaskScorer::other_network(checkpoint);
  }
  std::string score(const Scoring& with) override;

 private:
  bool prepared_ = false;
};

std::string ArraysScorer::score(const Scoring& with) {
  const std::vector<Metric> metrics = config().test_metrics();
  HeldOutArrays held_out(config(), task().trained_network(), task().held_out(), with.session);
  const ArraysScore score = held_out.test();
  if (!with.leads) return "";
  nlohmann::ordered_json json{
      {"weights", with.weights}, {"examples", score.examples}, {"loss", score.loss}};
  std::cout << "held-out loss " << short_number(score.loss);
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    std::cout << ", " << text_of_metric(metrics[i], score.metrics[i]);
    json[metrics[i].name] = score.metrics[i];
  }
  std::cout << ", " << score.examples << " examples, weights " << with.weights << "\n";
  if (const std::string left = held_out.text_of_left_out(); !left.empty())
    std::cout << left << "\n";
  with.print_remarks();
  return json_text(json);
}

}  // namespace

std::unique_ptr<Scorer> arrays_scorer(ArraysConfig config) {
  return std::make_unique<ArraysScorer>(std::move(config));
}

}  // namespace lockstep
