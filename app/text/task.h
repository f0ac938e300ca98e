// SPDX-License-Identifier: Apache-2.0
// Training of language models.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/text/config.h"
#include "app/text/corpus.h"
#include "app/text/held_out.h"
#include "app/train/resident_rounds.h"
#include "app/train/resident_set.h"
#include "app/train/task.h"
#include "lockstep/text.h"

namespace lockstep {

class TextTask final : public Task {
 public:
  // `vocabulary` is a trained network's; empty: the vocabulary of the text.
  explicit TextTask(TextConfig config, std::string vocabulary = "")
      : config_(std::move(config)), given_(std::move(vocabulary)) {}

  const TrainSettings& settings() const override { return config_; }
  LrSchedule& schedule() override { return config_.schedule; }
  ConfigKeys keys() override { return keys_of(config_); }
  std::vector<std::pair<std::string, std::string>> changed() override;
  std::string series() const override { return config_.output_dir; }
  std::string network() const override { return config_.model; }
  std::string data() const override;
  int64_t images_of_step() const override { return config_.batch_size; }
  WorkUnit work_unit() const override {
    return {"characters", config_.batch_size * config_.network.length};
  }

  void prepare() override;
  std::vector<std::pair<std::string, std::string>> also_alike() const override;
  std::vector<std::pair<std::string, std::string>> also_remembered() const override;
  std::vector<TrainingModel> steps(int processes) const override;
  std::optional<WeightsOptions> first_weights() const override;

  void open(Session& session, const Rows& rows) override;
  std::map<std::string, std::string> metadata() const override;
  Rounds* rounds() override { return resident_.get(); }
  const MinibatchSource& minibatches() const override { return *minibatches_; }
  int reading_threads() const override { return static_cast<int>(config_.data_threads); }
  std::string threads_key() const override { return "DATA.THREADS"; }
  std::vector<std::string> notes() const override;
  NamedTexts examples() const override;
  Dims picture() const override { return {1}; }

  NamedNumbers numbers_of(double loss) const override;
  std::string text_of(double loss, const NamedNumbers& numbers) const override;
  ScoreKind score_kind() const override;
  std::string text_of_score(double score) const override;
  std::vector<CurveChart> charts() const override;
  HeldOutTest test(int64_t iterations) override;

  // Valid after prepare().
  const TextCorpus& corpus() const { return *corpus_; }

 private:
  ResidentSet resident_set() const;
  std::string sample(int64_t iterations) const;

  TextConfig config_;
  std::string given_;
  std::unique_ptr<TextCorpus> corpus_;
  std::unique_ptr<TextBatches> minibatches_;
  std::unique_ptr<ResidentRounds> resident_;  // null without TRAIN.RESIDENT
  std::unique_ptr<HeldOutText> held_out_;
  Session* session_ = nullptr;
};

}  // namespace lockstep
