// SPDX-License-Identifier: Apache-2.0
#include "app/detection/scorer.h"

#include <filesystem>
#include <iomanip>
#include <iostream>
#include <optional>

#include "app/config/not_done.h"
#include "app/detection/data_sets.h"
#include "app/detection/fed_proposals.h"
#include "app/detection/network.h"
#include "app/detection/task.h"
#include "app/detection/test_report.h"
#include "app/format.h"
#include "app/record/json_text.h"
#include "app/train/chosen_run.h"
#include "app/train/config_agreement.h"
#include "app/written_files.h"
#include "graph/listed.h"
#include "graph/printable.h"
#include "lockstep/data_parallel.h"
#include "lockstep/processes.h"
#include "runtime/dist/agree.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::size_t kMostClassesSaid = 100;  // classes on the terminal

std::string number_text(double number) { return number < 0 ? "-" : fixed(number, 3); }

void print_classes(const CocoScores& scores, const Annotations& table) {
  if (table.categories.size() > kMostClassesSaid) return;
  std::cout << "      AP    AP50  class\n";
  for (std::size_t i = 0; i < table.categories.size(); ++i)
    std::cout << std::setw(8) << number_text(scores.average_precision(0, i)) << std::setw(8)
              << number_text(scores.average_precision_at(0, i)) << "  "
              << printable(table.categories[i].name) << "\n";
}

ordered_json json_of(const BoxTestResult& result, const Annotations& table) {
  ordered_json said{{"pictures", table.images.size() - result.left_out.size()}};
  if (!result.left_out.empty()) said["left_out"] = result.left_out_texts();
  for (const auto& [name, number] : numbers_of(result)) said[name] = number;
  if (!result.scores) return said;
  for (std::size_t i = 0; i < table.categories.size(); ++i)
    said["classes"].push_back({{"name", table.categories[i].name},
                               {"ap", result.scores->average_precision(0, i)},
                               {"ap50", result.scores->average_precision_at(0, i)}});
  return said;
}

// The size of the step does not matter: prediction has its own graphs over the same states.
TrainingModel own_model(DetectorConfig& config, Comm* comm) {
  const PictureSize size{config.network.shape.height, config.network.shape.width};
  if (!comm) return detector_step(config, size);
  check_agreement(*comm, to_be_agreed_on(keys_of(config)));
  return partition(detector_step(config, size, comm->size()), {comm->rank(), comm->size()});
}

std::string name_in_folder(const std::string& path) { return fs::path(path).filename().string(); }

class DetectorScorer final : public Scorer {
 public:
  DetectorScorer(DetectorConfig config, std::vector<std::string> files)
      : config_(std::move(config)), files_(std::move(files)) {}

  const TrainSettings& settings() const override { return config_; }
  std::string series() const override { return series_of(config_); }
  std::string other_network(const std::string& checkpoint) override {
    if (!model_) model_ = own_model(config_, nullptr);
    return lockstep::other_network(*model_, checkpoint);
  }
  void prepare(Comm* comm) override;
  std::string named_weights() const override { return config_.test.data.weights; }
  const TrainingModel& step(const std::string& /*weights*/) override { return *model_; }
  std::string usual_folder() const override;
  std::vector<std::string> names_in(const std::string& folder) const override;
  void check_keeps_inputs(const std::string& weights, const std::string& folder) const override;
  std::string score(const Scoring& with) override;

 private:
  DetectorConfig config_;
  std::vector<std::string> files_;  // files of the configuration
  std::optional<TrainingModel> model_;
};

void DetectorScorer::prepare(Comm* comm) {
  const std::vector<std::string>& sets = config_.test.data.datasets;
  refuse_not_done(keys_of(config_), "test", config_.origins, config_.path);
  check_sets_named(config_, "TEST.DATASETS", sets);
  check(!config_.network.model.rpn_only || sets.size() == 1, "TEST.DATASETS names ", sets.size(),
        " sets, but a test of proposals writes one set at a time");
  model_ = own_model(config_, comm);
}

std::string DetectorScorer::usual_folder() const {
  return join(config_.output_dir, "/test/", listed(config_.test.data.datasets, "+"), "/",
              config_.network.model.type);
}

std::vector<std::string> DetectorScorer::names_in(const std::string& folder) const {
  std::vector<std::string> names{kScores};
  for (const std::string& set : config_.test.data.datasets)
    names.push_back(name_in_folder(found_path(folder, set, config_.network.model.rpn_only)));
  return names;
}

void DetectorScorer::check_keeps_inputs(const std::string& weights,
                                        const std::string& folder) const {
  const DetectionData& data = config_.test.data;
  std::vector<std::string> written;
  for (const std::string& name : names_in(folder)) written.push_back(folder + "/" + name);
  std::vector<std::string> kept = annotation_files(config_, data.datasets);
  kept.insert(kept.end(), data.proposal_files.begin(), data.proposal_files.end());
  kept.insert(kept.end(), files_.begin(), files_.end());
  kept.push_back(weights);
  check_kept(written, kept, "--out");
}

std::string DetectorScorer::score(const Scoring& with) {
  if (with.leads) std::cout << "weights " << with.weights << "\n";
  if (with.leads) with.print_remarks();
  ordered_json all{{"weights", with.weights}};
  for (const std::string& set : config_.test.data.datasets) {
    const auto pictures = open_pictures(config_, {set}, "TEST.DATASETS");
    BoxTest test(config_, with.session, *pictures, proposals_for_testing(config_, {set}));
    const BoxTestResult result = test.test();
    if (!with.leads) continue;
    const Annotations& table = pictures->annotations();
    const std::string written = write_found(with.results.path(), set, table, result);
    with.results.list(name_in_folder(written));
    const HeldOutLine line = line_of(result);
    std::cout << set << "  " << line.headline << "  " << line.detail << "  "
              << table.images.size() - result.left_out.size() << " pictures -> " << written << "\n";
    for (const std::string& why : result.left_out_texts())
      std::cout << "left out: " << printable_lines(why) << "\n";
    if (result.scores) print_classes(*result.scores, table);
    all["sets"][set] = json_of(result, table);
  }
  return with.leads ? json_text(all) : "";
}

}  // namespace

std::unique_ptr<Scorer> detector_scorer(DetectorConfig config, std::vector<std::string> files) {
  return std::make_unique<DetectorScorer>(std::move(config), std::move(files));
}

}  // namespace lockstep
