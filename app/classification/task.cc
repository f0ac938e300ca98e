// SPDX-License-Identifier: Apache-2.0
#include "app/classification/task.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "app/classification/data_memory.h"
#include "app/classification/network.h"
#include "app/classification/trained_classifier.h"
#include "app/format.h"
#include "app/report/classes.h"
#include "app/train/picture_check.h"
#include "builders/net/soft_labels.h"
#include "lockstep/processes.h"

namespace lockstep {
namespace {

// Checks that both data sets name their classes equally: a label is only a number.
void check_same_classes(const Dataset& train, const Dataset& held_out) {
  check(held_out.classes() <= train.classes(), "the held-out data has ", held_out.classes(),
        " classes, the training data ", train.classes());
  for (int64_t label = 0; label < held_out.classes(); ++label)
    check(held_out.class_name(label) == train.class_name(label), "class ", label, " is '",
          train.class_name(label), "' in the training data and '", held_out.class_name(label),
          "' in the held-out data");
}

// The feed of the images: the data input that the inference graph also has. A user's network
// chooses its name.
std::string images_of(const TrainingModel& model) {
  const Graph& prediction = model.inference;
  const auto& taken = prediction.inputs();
  for (const StepInput& input : model.inputs)
    if (input.role == Role::data && std::any_of(taken.begin(), taken.end(), [&](Value value) {
          return prediction.name(value) == input.feed();
        }))
      return input.feed();
  fail("the step has no input for images");
}

std::string pictures_of(const Dataset& data) {
  return join(count_of(data.size(), "picture", "pictures"), " of ",
              count_of(data.classes_with_images(), "class", "classes"));
}

}  // namespace

std::string ClassificationTask::network() const {
  return config_.onnx.empty() ? config_.model
                              : std::filesystem::path(config_.onnx).filename().string();
}

std::vector<std::pair<std::string, std::string>> ClassificationTask::changed() {
  ClassificationConfig defaults;
  return changed_settings(keys(), keys_of(defaults));
}

// Reads names and sizes of files before a run to resume is chosen: the files must not have changed.
void ClassificationTask::prepare() {
  check_data_memory(config_);
  if (!has_files(dataset_of(config_, false))) return;
  train_ = dataset_named(dataset_of(config_, false));
  digest_ = train_->digest();
}

std::vector<std::pair<std::string, std::string>> ClassificationTask::also_alike() const {
  auto all = also_remembered();
  if (!digest_.empty())
    all.emplace_back("the held-out pictures of DATA.ROOT",
                     dataset_named(dataset_of(config_, true))->digest());
  return all;
}

// A class is a number: a class inserted before it changes the meaning of the number.
std::vector<std::pair<std::string, std::string>> ClassificationTask::also_remembered() const {
  if (digest_.empty()) return {};  // generated data: its keys are remembered
  return {{"the classes of DATA.ROOT", names_of_classes(*train_)},
          {"the pictures of DATA.ROOT", digest_}};
}

std::vector<TrainingModel> ClassificationTask::steps(int processes) const {
  std::vector<TrainingModel> steps;
  const ResidentInputs resident =
      config_.resident ? resident_inputs(config_, resident_set(), processes) : ResidentInputs{};
  steps.push_back(build_configured_model(config_, processes, &network_notes_, resident));
  return steps;
}

// A set without files has the size that the configuration says.
ResidentSet ClassificationTask::resident_set() const {
  const Preparation image = preparation_of(dataset_of(config_, false));
  return {.example = {{name_of_pictures(config_),
                       {config_.bytes ? DType::uint8 : DType::float32,
                        {1, image.channels, image.height, image.width}}},
                      {"label", {DType::int64, {1}}}},
          .examples = train_ ? train_->size() : config_.train_size,
          .batch = config_.batch_size,
          .of = "pictures"};
}

std::optional<WeightsOptions> ClassificationTask::first_weights() const {
  if (config_.weights.empty()) return std::nullopt;
  return weights_to_start_from(config_);
}

void ClassificationTask::open(Session& session, const Rows& rows) {
  if (const std::string what = generated_by(dataset_of(config_, false)); !what.empty())
    say()(join("generating ", short_number(static_cast<double>(config_.train_size)), " ", what,
               " to train on and ", short_number(static_cast<double>(config_.test_size)),
               " to test on"));
  if (!train_) train_ = dataset_named(dataset_of(config_, false));
  check(train_->classes() <= config_.classes, "MODEL.NUM_CLASSES is ", config_.classes,
        " but the data has ", train_->classes(), " classes");
  held_out_ = std::make_unique<HeldOut>(config_, session);
  check_same_classes(*train_, held_out_->data());
  const Dataset& data = held_out_->data();
  for (int64_t label = 0; label < config_.classes; ++label)
    classes_.push_back(label < data.classes() ? data.class_name(label) : std::to_string(label));
  shares_tests_ = session.comm() && session.comm()->size() > 1;
  const std::string images =
      config_.resident ? name_of_pictures(config_) : images_of(session.model());
  minibatches_ = std::make_unique<LabelledImages>(
      *train_, LabelledImagesOptions{.batch = config_.batch_size,
                                     .first = rows.first,
                                     .count = rows.count,
                                     .seed = static_cast<uint64_t>(config_.seed),
                                     .bytes = config_.bytes,
                                     .in_place_of_bad = config_.skip_bad_images
                                                            ? InPlaceOfBad::another
                                                            : InPlaceOfBad::nothing_and_stop,
                                     .mixup = config_.mixup,
                                     .images = images,
                                     .second_label = kSecondLabel,
                                     .second_share = kSecondShare});
  if (config_.resident)
    resident_ = std::make_unique<ResidentRounds>(
        config_, session, *minibatches_,
        ResidentRoundsOptions{.examples = train_->size(), .threads = reading_threads()});
}

void ClassificationTask::check_pictures() const {
  if (config_.skip_bad_images) return;
  std::vector<PicturesToCheck> sets;
  for (const Dataset* data : {static_cast<const Dataset*>(train_.get()), &held_out_->data()})
    if (data->has_headers())
      sets.push_back({data->size(), [data](int64_t image) { data->look_at_header(image); }});
  lockstep::check_pictures(sets, reading_threads(), say());
}

std::map<std::string, std::string> ClassificationTask::metadata() const {
  return picture_metadata(*train_);
}

std::vector<std::string> ClassificationTask::notes() const {
  std::vector<std::string> notes = network_notes_;
  notes.push_back(
      join(pictures_of(*train_), " to train on, ", pictures_of(held_out_->data()), " to test on"));
  if (resident_) notes.push_back(resident_->note());
  if (train_->classes() < config_.classes)
    notes.push_back(join("MODEL.NUM_CLASSES is ", config_.classes, ", but there are ",
                         train_->classes(),
                         " classes: the network's other outputs learn that "
                         "they are never right"));
  for (const Dataset* data : {static_cast<const Dataset*>(train_.get()), &held_out_->data()})
    if (const std::string left_out = data->left_out(); !left_out.empty()) notes.push_back(left_out);
  return notes;
}

NamedTexts ClassificationTask::examples() const {
  return {{"to train on", pictures_of(*train_)}, {"held out", pictures_of(held_out_->data())}};
}

int ClassificationTask::reading_threads() const { return lockstep::reading_threads(config_); }

Dims ClassificationTask::picture() const {
  const Dataset& data = held_out_->data();
  return {data.channels(), data.height(), data.width()};
}

std::string ClassificationTask::text_of(double loss, const NamedNumbers& numbers) const {
  std::string text = join("loss ", fixed(loss, 4));
  for (const auto& [name, number] : numbers)
    if (name != kSoftLabels) text += join("  ", name, " ", fixed(100 * number, 1), " %");
  return text;
}

ScoreKind ClassificationTask::score_kind() const {
  return {"accuracy", "held-out accuracy", "held_out_accuracy"};
}

std::string ClassificationTask::text_of_score(double score) const { return percent(score, 2); }

std::vector<CurveChart> ClassificationTask::charts() const {
  return {{"Loss",
           {{"loss", "training", "blue"}, {"test_loss", "held out", "orange", true}},
           Scale::log},
          {"Accuracy",
           {{"accuracy", "training", "blue"}, {"test_accuracy", "held out", "orange", true}},
           Scale::linear}};
}

HeldOutTest ClassificationTask::test(int64_t iterations) {
  const TestResult result = held_out_->test();
  HeldOutTest test;
  test.numbers = {{"accuracy", result.accuracy}, {"loss", result.loss}};
  test.score = result.accuracy;
  if (!std::isfinite(result.loss))
    test.trouble = join("the held-out loss is ", fixed(result.loss, 4));
  test.headline = join("held-out accuracy ", fixed(100 * result.accuracy, 2), " %");
  test.detail = join("loss ", fixed(result.loss, 4));
  test.section = html_of(Tested{result, classes_, iterations, shares_tests_});
  test.left_out = result.left_out;
  if (!result.left_out.empty())
    test.detail +=
        join("  without ", result.left_out.size(), " of ", held_out_->data().size(), " pictures");
  test.pictures = result.samples;
  test.pictures_are =
      "Wrong predictions with the highest confidence, then predictions with the lowest";
  return test;
}

}  // namespace lockstep
