// SPDX-License-Identifier: Apache-2.0
// Training of classifiers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/classification/config.h"
#include "app/classification/held_out.h"
#include "app/train/resident_rounds.h"
#include "app/train/resident_set.h"
#include "app/train/task.h"
#include "data/labelled_images.h"

namespace lockstep {

class ClassificationTask : public Task {
 public:
  explicit ClassificationTask(ClassificationConfig config) : config_(std::move(config)) {}

  const TrainSettings& settings() const override { return config_; }
  LrSchedule& schedule() override { return config_.schedule; }
  ConfigKeys keys() override { return keys_of(config_); }
  std::vector<std::pair<std::string, std::string>> changed() override;
  std::string series() const override { return config_.output_dir; }
  std::string network() const override;
  std::string data() const override { return config_.dataset; }
  int64_t images_of_step() const override { return config_.batch_size; }
  WorkUnit work_unit() const override { return {"images", images_of_step()}; }

  void prepare() override;
  std::vector<std::pair<std::string, std::string>> also_alike() const override;
  std::vector<std::pair<std::string, std::string>> also_remembered() const override;
  std::vector<TrainingModel> steps(int processes) const override;
  std::optional<WeightsOptions> first_weights() const override;

  void open(Session& session, const Rows& rows) override;
  void check_pictures() const override;
  std::map<std::string, std::string> metadata() const override;
  Rounds* rounds() override { return resident_.get(); }
  const MinibatchSource& minibatches() const override { return *minibatches_; }
  int reading_threads() const override;
  std::string threads_key() const override { return "DATA.THREADS"; }
  std::vector<std::string> notes() const override;
  SkippedPictures* skipped() const override {
    return config_.skip_bad_images ? &minibatches_->skipped() : nullptr;
  }
  NamedTexts examples() const override;
  Dims picture() const override;

  std::string text_of(double loss, const NamedNumbers& numbers) const override;
  ScoreKind score_kind() const override;
  std::string text_of_score(double score) const override;
  std::vector<CurveChart> charts() const override;
  HeldOutTest test(int64_t iterations) override;

 private:
  ResidentSet resident_set() const;

  ClassificationConfig config_;
  mutable std::vector<std::string> network_notes_;  // of steps()
  std::unique_ptr<Dataset> train_;
  std::string digest_;  // digest of the training files; "" for generated data
  std::unique_ptr<LabelledImages> minibatches_;
  std::unique_ptr<ResidentRounds> resident_;  // null without TRAIN.RESIDENT
  std::unique_ptr<HeldOut> held_out_;
  std::vector<std::string> classes_;  // names
  bool shares_tests_ = false;         // true with several processes
};

}  // namespace lockstep
