// SPDX-License-Identifier: Apache-2.0
// Training of detectors.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/detection/config/detector_config.h"
#include "app/detection/results/box_test.h"
#include "app/detection/train/held_out_loss.h"
#include "app/train/task.h"
#include "data/detection/batches.h"

namespace lockstep {

// The folder of the configuration's first run: OUTPUT_DIR/train/<data sets joined by
// +>/<MODEL.TYPE>.
std::string series_of(const DetectorConfig& config);

// Throws if a key names no data set.
void check_sets_named(const DetectorConfig& config, const std::string& key,
                      const std::vector<std::string>& names);

class DetectionTask final : public Task {
 public:
  explicit DetectionTask(DetectorConfig config);

  const TrainSettings& settings() const override { return config_; }
  LrSchedule& schedule() override { return config_.schedule; }
  ConfigKeys keys() override { return keys_of(config_); }
  std::vector<std::pair<std::string, std::string>> changed() override;
  std::string series() const override { return series_of(config_); }
  std::string network() const override;
  std::string data() const override;
  int64_t images_of_step() const override;
  WorkUnit work_unit() const override { return {"images", images_of_step()}; }

  void share_inferred(Comm& comm) override;
  Metadata inferred_in(const Metadata& saved) const override;
  void take_inferred(const Metadata& saved) override;
  void prepare() override;
  std::vector<std::pair<std::string, std::string>> also_alike() const override;
  std::vector<std::pair<std::string, std::string>> also_remembered() const override;
  std::vector<FormerEntry> remembered_before() const override;
  std::vector<TrainingModel> steps(int processes) const override;
  void check_start() const override;
  std::optional<WeightsOptions> first_weights() const override;

  void open(Session& session, const Rows& rows) override;
  void check_pictures() const override;
  std::map<std::string, std::string> metadata() const override;
  const MinibatchSource& minibatches() const override { return *minibatches_; }
  int reading_threads() const override;
  std::string threads_key() const override { return "DATA_LOADER.NUM_THREADS"; }
  std::vector<std::string> notes() const override;
  SkippedPictures* skipped() const override {
    return config_.train.skip_bad_images ? &minibatches_->skipped() : nullptr;
  }
  NamedTexts examples() const override;
  Dims picture() const override;

  std::string text_of(double loss, const NamedNumbers& numbers) const override;
  ScoreKind score_kind() const override;
  std::string text_of_score(double score) const override;
  std::vector<CurveChart> charts() const override;
  HeldOutTest test(int64_t iterations) override;

 private:
  DetectionBatchOptions batch_options() const;

  DetectorConfig config_;
  std::unique_ptr<PictureSet> training_, testing_;
  std::string training_digest_, former_digest_, training_pairs_, padding_note_;
  std::unique_ptr<DetectionBatches> minibatches_;
  std::unique_ptr<BoxTest> test_;
  std::unique_ptr<HeldOutLoss> held_out_loss_;  // null without TEST.LOSS
};

}  // namespace lockstep
