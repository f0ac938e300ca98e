// SPDX-License-Identifier: Apache-2.0
// Training of any network on arrays.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/arrays/config.h"
#include "app/arrays/example_set.h"
#include "app/arrays/held_out.h"
#include "app/arrays/network.h"
#include "app/train/resident_rounds.h"
#include "app/train/task.h"

namespace lockstep {

class ArraysTask final : public Task {
 public:
  explicit ArraysTask(ArraysConfig config);

  const TrainSettings& settings() const override { return config_; }
  LrSchedule& schedule() override { return config_.schedule; }
  ConfigKeys keys() override { return keys_of(config_); }
  std::vector<std::pair<std::string, std::string>> changed() override;
  std::string series() const override { return config_.output_dir; }
  std::string network() const override;
  std::string data() const override;
  int64_t images_of_step() const override { return config_.batch_size; }
  bool divides_rows() const override { return !config_.whole; }
  WorkUnit work_unit() const override { return {"examples", config_.batch_size}; }

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

  std::string text_of(double loss, const NamedNumbers& numbers) const override;
  ScoreKind score_kind() const override;
  std::string text_of_score(double score) const override;
  std::vector<CurveChart> charts() const override;
  HeldOutTest test(int64_t iterations) override;

  // Valid after prepare().
  const ArraysNetwork& trained_network() const { return *network_; }
  const ExampleSet& held_out() const { return *test_; }

 private:
  ResidentInputs resident_inputs_of(int processes) const;

  ArraysConfig config_;
  std::vector<Metric> metrics_;
  std::unique_ptr<ArraysNetwork> network_;
  std::unique_ptr<ExampleSet> train_, test_;
  std::unique_ptr<MinibatchSource> minibatches_;
  std::unique_ptr<ResidentRounds> resident_;  // null without TRAIN.RESIDENT
  std::unique_ptr<HeldOutArrays> held_out_;
};

}  // namespace lockstep
