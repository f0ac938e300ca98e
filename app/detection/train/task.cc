// SPDX-License-Identifier: Apache-2.0
#include "app/detection/train/task.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "app/detection/datasets/data_sets.h"
#include "app/detection/datasets/fed_proposals.h"
#include "app/detection/datasets/keypoint_declarations.h"
#include "app/detection/datasets/keypoint_rules.h"
#include "app/detection/exported.h"
#include "app/detection/network.h"
#include "app/detection/results/test_report.h"
#include "app/detection/train/padding_note.h"
#include "app/detection/train/training_charts.h"
#include "app/detection/train/truth_places.h"
#include "app/detection/weights.h"
#include "app/format.h"
#include "app/train/picture_check.h"
#include "data/coco/digest.h"
#include "graph/listed.h"
#include "models/detection/detector.h"
#include "models/detection/inputs.h"

namespace lockstep {
namespace {

constexpr const char* kTrainingAnnotations = "the annotations of TRAIN.DATASETS";
constexpr const char* kTrainingPairs = "the mirrored pairs of keypoints of TRAIN.DATASETS";
constexpr std::size_t kShapes = 6, kShapesOfSeveralScales = 12;

// Checks that both tables name their categories equally: a network's classes are only numbers.
void check_same_categories(const Annotations& train, const Annotations& test) {
  const std::size_t count = std::min(train.categories.size(), test.categories.size());
  for (std::size_t i = 0; i < count; ++i)
    check(train.categories[i].name == test.categories[i].name, "class ", i + 1, " is '",
          train.categories[i].name, "' in ", train.path, " and '", test.categories[i].name, "' in ",
          test.path);
  check(train.categories.size() == test.categories.size(), train.path, " has ",
        train.categories.size(), " categories, ", test.path, " has ", test.categories.size());
}

// "500 pictures of 3 categories"
std::string text_of_size(const Annotations& table) {
  return join(count_of(static_cast<int64_t>(table.images.size()), "picture", "pictures"), " of ",
              count_of(static_cast<int64_t>(table.categories.size()), "category", "categories"));
}

// Adds the losses of training on the held-out pictures, `loss` first; nothing on ranks above 0.
void add_losses(HeldOutTest& test, const NamedNumbers& losses) {
  if (losses.empty()) return;
  test.numbers.insert(test.numbers.end(), losses.begin(), losses.end());
  const double loss = losses.front().second;
  test.detail += join("  loss ", fixed(loss, 4));
  if (!std::isfinite(loss)) test.trouble = join("the held-out loss is ", fixed(loss, 4));
}

std::string dropped_text(const Annotations& table) {
  const int64_t dropped = table.dropped_polygons;
  return dropped == 0 ? ""
                      : join(table.path, ": ", dropped, dropped == 1 ? " polygon" : " polygons",
                             " of fewer than three points left out");
}

}  // namespace

void check_sets_named(const DetectorConfig& config, const std::string& key,
                      const std::vector<std::string>& names) {
  check(!names.empty(), config.origins.blame({key}, config.path),
        " is empty; it should name data sets, such as scenes_train or a set of DATASETS");
}

std::string series_of(const DetectorConfig& config) {
  return join(config.output_dir, "/train/", listed(config.train.data.datasets, "+"), "/",
              config.network.model.type);
}

DetectionTask::DetectionTask(DetectorConfig config) : config_(std::move(config)) {
  check_sets_named(config_, "TRAIN.DATASETS", config_.train.data.datasets);
  check_sets_named(config_, "TEST.DATASETS", config_.test.data.datasets);
}

std::vector<std::pair<std::string, std::string>> DetectionTask::changed() {
  DetectorConfig defaults;
  return changed_settings(keys(), keys_of(defaults));
}

std::string DetectionTask::network() const {
  const DetectorOptions& network = config_.network;
  const char* kind = network.retinanet.retinanet_on ? "RetinaNet"
                     : network.model.rpn_only       ? "RPN"
                     : network.rpn.rpn_on           ? "Faster R-CNN"
                                                    : "Fast R-CNN";
  const std::string& body = network.model.conv_body;
  return join(kind, " ", body.substr(body.find('.') + 1));
}

std::string DetectionTask::data() const { return listed(config_.train.data.datasets, "+"); }

int64_t DetectionTask::images_of_step() const {
  return config_.num_gpus * config_.network.train.ims_per_batch;
}

DetectionBatchOptions DetectionTask::batch_options() const {
  const DetectorOptions& network = config_.network;
  const bool several_scales = network.train.scales.size() > 1;
  DetectionBatchOptions options;
  options.batch = images_of_step();
  options.scales = network.train.scales;
  options.longest = network.train.max_size;
  options.scale_per_picture = config_.train.scale_per_image;
  options.empty_pictures = config_.train.empty_images;
  if (const LargeJitter& jitter = config_.train.jitter; jitter.on())
    options.jitter = {{jitter.height, jitter.width}, jitter.ratios[0], jitter.ratios[1]};
  options.stride = input_stride(network);
  options.shapes = config_.train.shapes > 0 ? static_cast<std::size_t>(config_.train.shapes)
                   : several_scales         ? kShapesOfSeveralScales
                                            : kShapes;
  if (!config_.train.aspect_grouping) options.shapes = network.train.scales.size();
  const TruthPlaces places = truth_places(config_);
  options.places = places.boxes;
  options.vertices = places.vertices;
  options.keypoints = places.keypoints;
  options.least_area = config_.train.gt_min_area;
  options.mirrored = config_.train.use_flipped;
  options.skip_bad_pictures = config_.train.skip_bad_images;
  options.seed = static_cast<uint64_t>(config_.seed);
  for (std::size_t i = 0; i < 3; ++i) options.means[i] = static_cast<float>(config_.pixel_means[i]);
  options.fixed = {network.shape.height, network.shape.width};
  options.proposals = proposals_for_training(config_);
  options.proposal_places = network.shape.proposals;
  return options;
}

void DetectionTask::share_inferred(Comm& comm) { share_inferred_means(config_, comm); }

Metadata DetectionTask::inferred_in(const Metadata& saved) const {
  if (means_to_continue_with(config_, saved).empty()) return {};
  return {{"PIXEL_MEANS", saved.at("PIXEL_MEANS")}};
}

void DetectionTask::take_inferred(const Metadata& saved) {
  const std::vector<double> before = config_.pixel_means;
  continue_with_means(config_, saved);
  if (config_.pixel_means != before)
    minibatches_ = std::make_unique<DetectionBatches>(*training_, batch_options());
}

void DetectionTask::prepare() {
  training_ = open_pictures(config_, config_.train.data.datasets, "TRAIN.DATASETS");
  training_digest_ = digest_of(training_->annotations());
  former_digest_ = digest_of_boxes(training_->annotations());
  training_pairs_ = text_of_all_pairs(training_->annotations());
  testing_ = open_pictures(config_, config_.test.data.datasets, "TEST.DATASETS");
  check_same_categories(training_->annotations(), testing_->annotations());
  check_same_keypoints(config_, training_->annotations(), testing_->annotations());
  fit_truth_places(config_, training_->annotations());
  minibatches_ = std::make_unique<DetectionBatches>(*training_, batch_options());
}

std::vector<std::pair<std::string, std::string>> DetectionTask::also_alike() const {
  auto all = also_remembered();
  all.emplace_back("the annotations of TEST.DATASETS", digest_of(testing_->annotations()));
  return all;
}

std::vector<std::pair<std::string, std::string>> DetectionTask::also_remembered() const {
  std::vector<std::pair<std::string, std::string>> all{{kTrainingAnnotations, training_digest_}};
  if (takes_keypoints(config_.network)) all.emplace_back(kTrainingPairs, training_pairs_);
  return all;
}

std::vector<FormerEntry> DetectionTask::remembered_before() const {
  return {{kTrainingAnnotations, former_digest_, "areas, polygons, masks and keypoints"}};
}

// Prediction is for the widest pictures of a test. `lockstep export` replaces this graph.
std::vector<TrainingModel> DetectionTask::steps(int processes) const {
  const PictureSize widest{config_.network.shape.height, config_.network.shape.width};
  std::vector<TrainingModel> steps;
  for (const PictureSize& size : minibatches_->shapes())
    steps.push_back(detector_step(config_, size, widest, processes));
  return steps;
}

std::optional<WeightsOptions> DetectionTask::first_weights() const {
  if (config_.train.data.weights.empty()) return std::nullopt;
  return weights_to_start_from(config_);
}

void DetectionTask::check_start() const { check_no_random_frozen(config_); }

void DetectionTask::open(Session& session, const Rows& rows) {
  minibatches_->take(rows.first, rows.count);
  padding_note_ = padding_note(session.model().inference);
  const std::vector<std::string>& sets = config_.test.data.datasets;
  test_ =
      std::make_unique<BoxTest>(config_, session, *testing_, proposals_for_testing(config_, sets));
  if (config_.test.loss)
    held_out_loss_ = std::make_unique<HeldOutLoss>(config_, session, *testing_,
                                                   proposals_for_held_out_loss(config_, sets));
}

// Reads the headers of the training pictures and of all test pictures.
void DetectionTask::check_pictures() const {
  if (config_.train.skip_bad_images) return;
  const auto looker = [](const PictureSet& set, std::vector<std::size_t> numbers) {
    const auto count = static_cast<int64_t>(numbers.size());
    return PicturesToCheck{
        count, [&set, numbers = std::move(numbers)](int64_t i) { set.look_at_header(numbers[i]); }};
  };
  std::vector<std::size_t> tested(testing_->annotations().images.size());
  std::iota(tested.begin(), tested.end(), std::size_t{0});
  std::vector<PicturesToCheck> sets;
  if (training_->has_headers()) sets.push_back(looker(*training_, minibatches_->pictures()));
  if (testing_->has_headers() && config_.test.data.datasets != config_.train.data.datasets)
    sets.push_back(looker(*testing_, std::move(tested)));
  lockstep::check_pictures(sets, reading_threads(), say());
}

std::map<std::string, std::string> DetectionTask::metadata() const {
  nlohmann::json names = nlohmann::json::array();
  for (const CocoCategory& category : testing_->annotations().categories)
    names.push_back(category.name);
  const PointNames points = point_names_of(testing_->annotations());
  std::map<std::string, std::string> all{
      {"categories", names.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)},
      {"picture", picture_rules(config_, points)}};
  if (has_keypoint_head(config_.network)) {
    all[kPointNames] = metadata_of(points);
    all[kKeypointRules] = metadata_of(keypoint_rules_of(config_, testing_->annotations()));
  }
  return all;
}

int DetectionTask::reading_threads() const { return static_cast<int>(config_.loader.num_threads); }

std::vector<std::string> DetectionTask::notes() const {
  std::vector<std::string> notes;
  for (const DetectorNote& note : config_.notes) notes.push_back(note.text);
  notes.push_back(join(text_of_size(training_->annotations()), " to train on, ",
                       text_of_size(testing_->annotations()), " to test on"));
  notes.push_back(minibatches_->text());
  for (const auto* pictures : {training_.get(), testing_.get()})
    if (std::string dropped = dropped_text(pictures->annotations()); !dropped.empty())
      notes.push_back(std::move(dropped));
  if (!padding_note_.empty()) notes.push_back(padding_note_);
  return notes;
}

NamedTexts DetectionTask::examples() const {
  return {{"to train on", text_of_size(training_->annotations())},
          {"held out", text_of_size(testing_->annotations())}};
}

Dims DetectionTask::picture() const {
  const InputSize size = input_size(config_.network, Mode::infer);
  return {3, size.height, size.width};
}

std::string DetectionTask::text_of(double loss, const NamedNumbers& numbers) const {
  std::string text = join("loss ", fixed(loss, 4));
  for (const auto& [name, number] : numbers)
    if (name == "accuracy_cls") text += join("  accuracy ", fixed(100 * number, 1), " %");
  return text;
}

ScoreKind DetectionTask::score_kind() const {
  return score_of_detectors(config_.network.model.rpn_only);
}

std::string DetectionTask::text_of_score(double score) const { return fixed(score, 3); }

std::vector<CurveChart> DetectionTask::charts() const { return training_charts(config_); }

HeldOutTest DetectionTask::test(int64_t iterations) {
  const BoxTestResult result = test_->test();
  HeldOutTest test = reported(result, *testing_, iterations);
  if (held_out_loss_) add_losses(test, held_out_loss_->losses());
  return test;
}

}  // namespace lockstep
