// SPDX-License-Identifier: Apache-2.0
#include "app/detection/scorer.h"

#include <filesystem>
#include <iostream>
#include <optional>

#include "app/detection/datasets/data_sets.h"
#include "app/detection/datasets/fed_proposals.h"
#include "app/detection/network.h"
#include "app/detection/results/class_table.h"
#include "app/detection/results/drawn_boxes.h"
#include "app/detection/results/expected_results.h"
#include "app/detection/results/test_json.h"
#include "app/detection/results/test_report.h"
#include "app/detection/train/task.h"
#include "app/detection/weights.h"
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

// The size of the step does not matter: prediction has its own graphs over the same states.
TrainingModel own_model(DetectorConfig& config, Comm* comm) {
  const PictureSize size{config.network.shape.height, config.network.shape.width};
  if (!comm) return detector_step(config, size);
  share_inferred_means(config, *comm);
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
  std::string named_weights() const override;
  WeightsOptions trained_weights(const std::string& weights) const override {
    return lockstep::trained_weights(config_, weights);
  }
  const TrainingModel& step(const std::string& weights) override;
  std::string usual_folder() const override;
  std::vector<std::string> names_in(const std::string& folder) const override;
  void check_keeps_inputs(const std::string& weights, const std::string& folder) const override;
  std::string score(const Scoring& with) override;
  bool as_expected() const override { return as_expected_; }

 private:
  void compare(const std::string& set, const BoxTestResult& result, ordered_json& said);
  void draw(const std::string& set, const PictureSet& pictures, const BoxTestResult& result,
            OutputFolder& results) const;

  DetectorConfig config_;
  std::vector<std::string> files_;  // files of the configuration
  std::optional<TrainingModel> model_;
  std::vector<ExpectedResult> expected_;
  bool as_expected_ = true;
  Comm* comm_ = nullptr;
};

// "vis_scenes_val_17.png", as often as there are pictures
std::vector<std::string> names_of_drawn(const std::string& set, const Annotations& table) {
  std::vector<std::string> names;
  for (const CocoImage& image : table.images)
    names.push_back(join("vis_", set, "_", image.id, ".png"));
  return names;
}

// Pictures are prepared as the weights say. Other processes may lack the file.
const TrainingModel& DetectorScorer::step(const std::string& weights) {
  const bool leads = !comm_ || comm_->rank() == 0;
  std::vector<double> means;
  if (leads) means = means_of_weights(weights);
  if (comm_) means = shared_means(*comm_, means);
  const std::size_t said = config_.notes.size();
  take_means(config_, means, join("the weights ", weights));
  for (std::size_t i = said; leads && i < config_.notes.size(); ++i)
    std::cerr << "lockstep: " << printable(config_.notes[i].text) << "\n";
  return *model_;
}

void DetectorScorer::prepare(Comm* comm) {
  comm_ = comm;
  const std::vector<std::string>& sets = config_.test.data.datasets;
  check_sets_named(config_, "TEST.DATASETS", sets);
  check(!config_.network.model.rpn_only || sets.size() == 1, "TEST.DATASETS names ", sets.size(),
        " sets, but a test of proposals writes one set at a time");
  expected_ = expected_results(config_);
  model_ = own_model(config_, comm);
}

void DetectorScorer::compare(const std::string& set, const BoxTestResult& result,
                             ordered_json& said) {
  for (const ExpectedResult& expected : expected_) {
    if (expected.set != set) continue;
    const ComparedResult compared = lockstep::compared(expected, result, config_.expected);
    std::cout << printable(compared.line) << "\n";
    said["expected"].push_back(compared.line);
    as_expected_ = as_expected_ && compared.holds;
  }
}

// Draws the detections with scores of at least VIS_TH.
void DetectorScorer::draw(const std::string& set, const PictureSet& pictures,
                          const BoxTestResult& result, OutputFolder& results) const {
  const Annotations& table = pictures.annotations();
  const std::vector<std::string> names = names_of_drawn(set, table);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (result.left_out.count(i) > 0) continue;
    FoundBoxes shown = result.found[i];
    std::erase_if(shown, [&](const FoundBox& box) { return box.score < config_.test.vis_th; });
    results.write(names[i], png_of(with_boxes(pictures.picture(i), shown, table.categories)));
  }
}

std::string DetectorScorer::named_weights() const {
  const std::string& weights = config_.test.data.weights;
  return weights.empty() ? "" : weights_file({weights, config_.download_cache});
}

std::string DetectorScorer::usual_folder() const {
  return join(config_.output_dir, "/test/", listed(config_.test.data.datasets, "+"), "/",
              config_.network.model.type);
}

std::vector<std::string> DetectorScorer::names_in(const std::string& folder) const {
  std::vector<std::string> names{kScores};
  for (const std::string& set : config_.test.data.datasets)
    for (const std::string& path : found_paths(folder, set, tested_kinds(config_)))
      names.push_back(name_in_folder(path));
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
    const Annotations& table = pictures->annotations();
    if (config_.test.vis && with.leads) with.results.check_replaceable(names_of_drawn(set, table));
    BoxTest test(config_, with.session, *pictures, proposals_for_testing(config_, {set}));
    const BoxTestResult result = test.test();
    if (!with.leads) continue;
    const std::vector<std::string> written =
        write_found(with.results.path(), set, table, result, tested_kinds(config_));
    for (const std::string& path : written) with.results.list(name_in_folder(path));
    const HeldOutLine line = line_of(result);
    std::cout << set << "  " << line.headline << "  " << line.detail << "  "
              << table.images.size() - result.left_out.size() << " pictures -> " << listed(written)
              << "\n";
    for (const std::string& why : result.left_out_texts())
      std::cout << "left out: " << printable_lines(why) << "\n";
    std::cout << class_table(result, table);
    if (config_.test.vis) draw(set, *pictures, result, with.results);
    ordered_json said = json_of(result, table);
    compare(set, result, said);
    all["sets"][set] = std::move(said);
  }
  return with.leads ? json_text(all) : "";
}

}  // namespace

std::unique_ptr<Scorer> detector_scorer(DetectorConfig config, std::vector<std::string> files) {
  return std::make_unique<DetectorScorer>(std::move(config), std::move(files));
}

}  // namespace lockstep
