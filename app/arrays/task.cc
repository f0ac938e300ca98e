// SPDX-License-Identifier: Apache-2.0
#include "app/arrays/task.h"

#include <cmath>
#include <filesystem>

#include "app/arrays/data.h"
#include "app/arrays/prediction.h"
#include "app/format.h"
#include "app/report/html.h"
#include "graph/limits.h"

namespace lockstep {
namespace {

// Checks the memory for minibatches: read ahead, in use, and where a step reads them.
void check_batch_memory(const ArraysConfig& config, const ArraySet& set) {
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

std::string text_of_metric(const Metric& metric, double value) {
  return metric.name + " " + (metric.kind->is_share ? percent(value, 2) : short_number(value));
}

ArraysTask::ArraysTask(ArraysConfig config)
    : config_(std::move(config)), metrics_(config_.test_metrics()) {}

std::vector<std::pair<std::string, std::string>> ArraysTask::changed() {
  ArraysConfig defaults;
  return changed_settings(keys(), keys_of(defaults));
}

std::string ArraysTask::network() const {
  return std::filesystem::path(config_.onnx).filename().string();
}

void ArraysTask::prepare() {
  network_ = std::make_unique<ArraysNetwork>(config_);
  check_names_of_arrays(config_, network_->fed_in_test());
  train_ = open_arrays(config_, "DATA.TRAIN", config_.train, network_->fed_in_training());
  test_ = open_arrays(config_, "DATA.TEST", config_.test, network_->fed_in_test());
  check(train_->size() >= config_.batch_size, Key{"TRAIN.BATCH_SIZE"}, " is ", config_.batch_size,
        ", but ", config_.train, " has ", train_->size(), " examples");
  check_batch_memory(config_, *train_);
}

std::vector<std::pair<std::string, std::string>> ArraysTask::also_alike() const {
  auto all = also_remembered();
  all.emplace_back("the arrays of DATA.TEST", test_->digest());
  return all;
}

std::vector<std::pair<std::string, std::string>> ArraysTask::also_remembered() const {
  return {{"the arrays of DATA.TRAIN", train_->digest()}};
}

std::vector<TrainingModel> ArraysTask::steps(int processes) const {
  const int64_t fixed = network_->fixed_rows();
  const BatchShares shares = shares_of(config_, config_.replicas() * processes);
  check(fixed == 0 || (shares.equal() && shares.rows(0, 0).count == fixed), config_.onnx, " takes ",
        fixed, " examples at a time, but ", Key{"TRAIN.BATCH_SIZE"}, " ", config_.batch_size,
        " gives ", shares.rows(0, 0).count, " to each replica; ", "set TRAIN.BATCH_SIZE ",
        fixed * shares.count(), ", or export the network with a symbolic first dimension");
  check(!config_.whole || shares.count() == 1, Key{"DATA.WHOLE"}, " trains one replica, but ",
        Key{"DEVICES"}, " and processes make ", shares.replicas);
  return network_->steps(example_types(*train_), processes);
}

std::optional<WeightsOptions> ArraysTask::first_weights() const {
  if (config_.weights.empty()) return std::nullopt;
  return WeightsOptions{.path = config_.weights};
}

void ArraysTask::open(Session& session, const Rows& rows) {
  auto batches = std::make_unique<ArrayBatches>(
      *train_, ArrayBatchOptions{.batch = config_.batch_size,
                                 .first = rows.first,
                                 .count = rows.count,
                                 .seed = static_cast<uint64_t>(config_.seed),
                                 .shuffle = config_.shuffle});
  if (config_.whole)
    minibatches_ = std::make_unique<WholeExamples>(std::move(batches));
  else
    minibatches_ = std::move(batches);
  held_out_ = std::make_unique<HeldOutArrays>(config_, *network_, *test_, session);
}

std::map<std::string, std::string> ArraysTask::metadata() const { return arrays_metadata(config_); }

std::vector<std::string> ArraysTask::notes() const {
  std::vector<std::string> notes = network_->notes(example_types(*train_).back());
  notes.push_back(join(text_of_arrays(*train_), "; ",
                       count_of(train_->size(), "example", "examples"), " to train on, ",
                       test_->size(), " to test on"));
  if (const int64_t left = held_out_->left_out(); left > 0)
    notes.push_back(
        join("the network takes a fixed number of examples, so a test leaves out the "
             "last ",
             left, " of ", test_->size()));
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
  const ArraysScore score = held_out_->test();
  HeldOutTest test;
  test.numbers.emplace_back("loss", score.loss);
  bool is_finite = std::isfinite(score.loss);
  for (std::size_t i = 0; i < metrics_.size() && i < score.metrics.size(); ++i) {
    test.numbers.emplace_back(metrics_[i].name, score.metrics[i]);
    is_finite = is_finite && std::isfinite(score.metrics[i]);
  }
  test.score = is_finite ? rank_of(score, metrics_) : 0;
  test.numbers.emplace_back("score", test.score);
  if (!is_finite) test.trouble = join("the held-out loss is ", loss_text(score.loss));
  test.headline = "held-out " + (metrics_.empty() ? "loss " + loss_text(score.loss)
                                                  : text_of_metric(metrics_[0], score.metrics[0]));
  std::vector<std::string> details;
  if (!metrics_.empty()) test.detail = "loss " + loss_text(score.loss);
  for (std::size_t i = 1; i < metrics_.size(); ++i)
    test.detail += "  " + text_of_metric(metrics_[i], score.metrics[i]);
  NamedTexts rows{{"examples", std::to_string(score.examples)}};
  for (const auto& [name, number] : test.numbers)
    if (name != "score") rows.emplace_back(name, short_number(number));
  test.section = "<h2>Held-out examples</h2>\n" + table_of(rows);
  return test;
}

}  // namespace lockstep
