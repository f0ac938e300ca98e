// SPDX-License-Identifier: Apache-2.0
#include "app/arrays/task.h"

#include <cmath>
#include <filesystem>

#include "app/arrays/example_source.h"
#include "app/arrays/example_types.h"
#include "app/arrays/network_type.h"
#include "app/arrays/trained_data.h"
#include "app/format.h"
#include "app/html.h"
#include "app/train/resident_set.h"
#include "graph/limits.h"

namespace lockstep {
namespace {

// Checks the memory for minibatches: read ahead, in use, and where a step reads them.
void check_batch_memory(const ArraysConfig& config, const ExampleSet& set) {
  constexpr int64_t kBatches = 4;
  int64_t bytes = 0;
  for (const MinibatchForm& form : set.forms(1)) {
    int64_t of_form = 0;
    for (const NamedDesc& tensor : form) of_form += static_cast<int64_t>(tensor.desc.bytes());
    bytes = std::max(bytes, of_form);
  }
  check_memory(kBatches * bytes * config.batch_size,
               join("TRAIN.BATCH_SIZE ", config.batch_size, " examples of ", bytes, " bytes"));
}

std::string loss_text(double loss) { return short_number(loss); }

}  // namespace

ArraysTask::ArraysTask(ArraysConfig config)
    : config_(std::move(config)), metrics_(config_.test_metrics()) {}

std::vector<std::pair<std::string, std::string>> ArraysTask::changed() {
  ArraysConfig defaults;
  return changed_settings(keys(), keys_of(defaults));
}

std::string ArraysTask::network() const {
  return std::filesystem::path(network_type(config_).title(config_)).filename().string();
}

std::string ArraysTask::data() const { return example_source(config_).place(config_, false); }

void ArraysTask::prepare() {
  network_ = std::make_unique<ArraysNetwork>(config_);
  check_names_of_arrays(config_, network_->fed_in_test());
  train_ = open_examples(config_, false, network_->fed_in_training());
  test_ = open_examples(config_, true, network_->fed_in_test());
  check(train_->size() >= config_.batch_size, Key{"TRAIN.BATCH_SIZE"}, " is ", config_.batch_size,
        ", but ", data(), " has ", train_->size(), " examples");
  check_batch_memory(config_, *train_);
}

std::vector<std::pair<std::string, std::string>> ArraysTask::also_alike() const {
  auto all = also_remembered();
  if (const std::string digest = test_->digest(); !digest.empty())
    all.emplace_back(example_source(config_).test.content, digest);
  return all;
}

std::vector<std::pair<std::string, std::string>> ArraysTask::also_remembered() const {
  const std::string digest = train_->digest();
  if (digest.empty()) return {};  // generated examples: their keys are remembered
  return {{example_source(config_).train.content, digest}};
}

std::vector<TrainingModel> ArraysTask::steps(int processes) const {
  const int64_t fixed = network_->fixed_rows();
  const BatchShares shares = shares_of(config_, config_.replicas() * processes);
  check(fixed == 0 || (shares.equal() && shares.rows(0, 0).count == fixed),
        network_type(config_).title(config_), " takes ", fixed, " examples at a time, but ",
        Key{"TRAIN.BATCH_SIZE"}, " ", config_.batch_size, " gives ", shares.rows(0, 0).count,
        " to each replica; ", "set TRAIN.BATCH_SIZE ", fixed * shares.count(),
        ", or export the network with a symbolic first dimension");
  check(!config_.whole || shares.count() == 1, Key{"DATA.WHOLE"}, " trains one replica, but ",
        Key{"DEVICES"}, " and processes make ", shares.replicas);
  return network_->steps(example_types(*train_), processes, resident_inputs_of(processes));
}

// Replicas hold examples of one shape.
ResidentInputs ArraysTask::resident_inputs_of(int processes) const {
  if (!config_.resident) return {};
  const std::vector<MinibatchForm> forms = train_->forms(1);
  check(forms.size() == 1, Key{"TRAIN.RESIDENT"}, " keeps examples of one shape, but ",
        Key{"DATA.BUCKETS"}, " gives them ", std::ssize(forms),
        " lengths; name one bucket, or leave DATA.BUCKETS out");
  return resident_inputs(config_,
                         {.example = forms[0],
                          .examples = train_->size(),
                          .batch = config_.batch_size,
                          .of = "examples"},
                         processes);
}

std::optional<WeightsOptions> ArraysTask::first_weights() const {
  if (config_.weights.empty()) return std::nullopt;
  return WeightsOptions{.path = config_.weights};
}

void ArraysTask::open(Session& session, const Rows& rows) {
  auto batches = train_->minibatches({.batch = config_.batch_size,
                                      .first = rows.first,
                                      .count = rows.count,
                                      .seed = static_cast<uint64_t>(config_.seed),
                                      .shuffle = config_.shuffle});
  if (config_.whole)
    minibatches_ = std::make_unique<WholeExamples>(std::move(batches));
  else
    minibatches_ = std::move(batches);
  if (config_.resident)
    resident_ = std::make_unique<ResidentRounds>(
        config_, session, *minibatches_,
        ResidentRoundsOptions{
            .examples = train_->size(), .threads = reading_threads(), .shuffle = config_.shuffle});
  held_out_ = std::make_unique<HeldOutArrays>(config_, *network_, *test_, session);
}

std::map<std::string, std::string> ArraysTask::metadata() const {
  return arrays_metadata(config_, *train_);
}

std::vector<std::string> ArraysTask::notes() const {
  std::vector<std::string> notes = network_->notes(example_types(*train_).back());
  notes.push_back(join(train_->description(), "; ", count_of(train_->size(), "example", "examples"),
                       " to train on, ", test_->size(), " to test on"));
  if (resident_) notes.push_back(resident_->note());
  if (std::string left = held_out_->text_of_left_out(); !left.empty())
    notes.push_back(std::move(left));
  return notes;
}

NamedTexts ArraysTask::examples() const {
  return {{"to train on", count_of(train_->size(), "example", "examples")},
          {"held out", count_of(test_->size(), "example", "examples")}};
}

std::string ArraysTask::text_of(double loss, const NamedNumbers& numbers) const {
  std::string text = "loss " + loss_text(loss);
  for (const auto& [name, number] : numbers) text += join("  ", name, " ", loss_text(number));
  return text;
}

ScoreKind ArraysTask::score_kind() const {
  return {"score", join("held-out ", metrics_.empty() ? "loss" : metrics_[0].name),
          "held_out_score"};
}

std::string ArraysTask::text_of_score(double score) const {
  const double value = value_of_rank(score, metrics_);
  const bool is_share = !metrics_.empty() && metrics_[0].kind->is_share;
  return is_share ? percent(value, 2) : short_number(value);
}

std::vector<CurveChart> ArraysTask::charts() const {
  std::vector<CurveChart> charts{
      {"Loss",
       {{"loss", "training", "blue"}, {"test_loss", "held out", "orange", true}},
       Scale::log}};
  for (const Metric& metric : metrics_)
    charts.push_back(
        {metric.name, {{"test_" + metric.name, "held out", "orange", true}}, Scale::linear});
  return charts;
}

HeldOutTest ArraysTask::test(int64_t /*iterations*/) {
  std::optional<ShownExamples> shown = shown_examples(metrics_, *test_);
  const ArraysScore score = held_out_->test(shown ? &*shown : nullptr);
  HeldOutTest test;
  test.numbers.emplace_back("loss", score.loss);
  bool is_finite = std::isfinite(score.loss);
  for (std::size_t i = 0; i < metrics_.size() && i < score.metrics.size(); ++i) {
    test.numbers.emplace_back(metrics_[i].name, score.metrics[i]);
    is_finite = is_finite && std::isfinite(score.metrics[i]);
  }
  test.score = is_finite ? rank_of(score, metrics_) : 0;
  test.measured = metrics_.empty() ? score.loss : score.metrics[0];
  test.larger_is_better = !metrics_.empty() && metrics_[0].kind->larger_is_better;
  test.numbers.emplace_back("score", test.score);
  if (!is_finite) test.trouble = join("the held-out loss is ", loss_text(score.loss));
  test.headline = "held-out " + (metrics_.empty() ? "loss " + loss_text(score.loss)
                                                  : text_of_metric(metrics_[0], score.metrics[0]));
  if (!metrics_.empty()) test.detail = "loss " + loss_text(score.loss);
  for (std::size_t i = 1; i < metrics_.size(); ++i)
    test.detail += "  " + text_of_metric(metrics_[i], score.metrics[i]);
  NamedTexts rows{{"examples", std::to_string(score.examples)}};
  for (const auto& [name, number] : test.numbers)
    if (name != "score") rows.emplace_back(name, short_number(number));
  test.section = "<h2>Held-out examples</h2>\n" + table_of(rows) + (shown ? shown->html() : "");
  return test;
}

}  // namespace lockstep
