// SPDX-License-Identifier: Apache-2.0
#include "app/text/scorer.h"

#include <filesystem>
#include <iostream>
#include <optional>

#include "app/format.h"
#include "app/record/json_text.h"
#include "app/text/network.h"
#include "app/text/task.h"
#include "app/train/chosen_run.h"
#include "app/train/partitioned_steps.h"
#include "app/train/run_folder.h"
#include "lockstep/operators.h"
#include "lockstep/processes.h"

namespace lockstep {
namespace {

// The vocabulary of the run with these weights: the text may have changed since.
std::string vocabulary_of(const std::string& weights) {
  const std::string step = step_in(std::filesystem::path(weights).parent_path().string());
  if (!std::filesystem::exists(step)) return "";
  return vocabulary_in(load_model(all_ops(), step).model, step);
}

class TextScorer final : public Scorer {
 public:
  explicit TextScorer(TextConfig config) : config_(std::move(config)) {}

  const TrainSettings& settings() const override { return config_; }
  std::string series() const override { return config_.output_dir; }
  // Each run has its own vocabulary, which determines the sizes of its parameters.
  std::string other_network(const std::string& checkpoint) override {
    const auto characters = static_cast<int64_t>(vocabulary_of(checkpoint).size());
    return characters == 0
               ? ""
               : lockstep::other_network(build_language_step(config_, characters), checkpoint);
  }
  void prepare(Comm* comm) override { comm_ = comm; }
  const TrainingModel& step(const std::string& weights) override {
    task_.emplace(config_, vocabulary_of(weights));
    steps_ = own_steps(*task_, comm_);
    return steps_[0];
  }
  std::string score(const Scoring& with) override;

 private:
  TextConfig config_;
  Comm* comm_ = nullptr;
  std::optional<TextTask> task_;
  std::vector<TrainingModel> steps_;
};

std::string TextScorer::score(const Scoring& with) {
  HeldOutText held_out(task_->corpus(), config_.network.length, with.session);
  const TextScore score = held_out.test();
  if (!with.leads) return "";
  std::cout << "held out " << fixed(score.bits_per_character(), 3) << " bits per character, loss "
            << fixed(score.loss, 4) << ", perplexity " << fixed(score.perplexity(), 3) << ", "
            << score.characters << " characters, weights " << with.weights << "\n";
  with.print_remarks();
  return json_text({{"weights", with.weights},
                    {"bits_per_character", score.bits_per_character()},
                    {"loss", score.loss},
                    {"perplexity", score.perplexity()},
                    {"characters", score.characters}});
}

}  // namespace

std::unique_ptr<Scorer> text_scorer(TextConfig config) {
  return std::make_unique<TextScorer>(std::move(config));
}

}  // namespace lockstep
