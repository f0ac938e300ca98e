// SPDX-License-Identifier: Apache-2.0
#include "app/text/task.h"

#include <cmath>

#include "app/format.h"
#include "app/html.h"
#include "app/text/network.h"
#include "app/text/sampler.h"
#include "data/text/order.h"
#include "graph/limits.h"
#include "graph/listed.h"
#include "graph/printable.h"
#include "lockstep/processes.h"

namespace lockstep {
namespace {

std::string bits_text(double bits) { return fixed(bits, 3) + " bits per character"; }

NamedNumbers numbers_with(double loss, const TextScore& score) {
  return {{"loss", loss},
          {"bits_per_character", score.bits_per_character()},
          {"perplexity", score.perplexity()}};
}

// Adds the keys to an error of text that is shorter than a row.
template <class Make>
auto rows_of_text(const TextConfig& config, const Make& make) {
  try {
    return make();
  } catch (const Error& error) {
    fail("DATA.FILES and DATA.LENGTH ", config.network.length, ": ", error.what());
  }
}

// Checks the memory for rows of minibatches: read ahead, in use, and where a step reads them.
void check_row_memory(const TextConfig& config) {
  constexpr int64_t kBatches = 4, kTensors = 2, kBytes = 8;
  check_memory(
      kBatches * kTensors * kBytes * config.batch_size * config.network.length,
      join("TRAIN.BATCH_SIZE ", config.batch_size, " rows of DATA.LENGTH ", config.network.length));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> TextTask::changed() {
  TextConfig defaults;
  return changed_settings(keys(), keys_of(defaults));
}

std::string TextTask::data() const { return first_listed(config_.files, 3); }

void TextTask::prepare() {
  check_row_memory(config_);
  corpus_ = std::make_unique<TextCorpus>(config_, given_);
}

std::vector<std::pair<std::string, std::string>> TextTask::also_alike() const {
  auto all = also_remembered();
  all.emplace_back("the held-out text", corpus_->held_out_digest());
  return all;
}

// The text determines the minibatches. With TEST.FILES another part of the text is trained on.
std::vector<std::pair<std::string, std::string>> TextTask::also_remembered() const {
  return {{"the text of DATA.FILES", corpus_->training_digest()},
          {"the training characters", std::to_string(characters_of(corpus_->training_ranges()))}};
}

std::vector<TrainingModel> TextTask::steps(int processes) const {
  std::vector<TrainingModel> steps;
  const ResidentInputs resident =
      config_.resident ? resident_inputs(config_, resident_set(), processes) : ResidentInputs{};
  steps.push_back(build_language_step(config_, corpus_->vocabulary().size(), processes, resident));
  return steps;
}

// The rows of the first pass through the text.
ResidentSet TextTask::resident_set() const {
  const int64_t length = config_.network.length;
  const TensorDesc row{DType::int64, {1, length}};
  const TextBatchOptions names;
  const int64_t rows = rows_of_text(config_, [&] {
    return TextOrder(corpus_->training_ranges(), length, static_cast<uint64_t>(config_.seed))
        .rows_of_pass();
  });
  return {.example = {{names.characters, row}, {names.labels, row}},
          .examples = rows,
          .batch = config_.batch_size,
          .of = "rows of text"};
}

std::optional<WeightsOptions> TextTask::first_weights() const {
  if (config_.weights.empty()) return std::nullopt;
  return WeightsOptions{.path = config_.weights};
}

void TextTask::open(Session& session, const Rows& rows) {
  session_ = &session;
  minibatches_ = rows_of_text(config_, [&] {
    return std::make_unique<TextBatches>(
        corpus_->training(), corpus_->training_ranges(),
        TextBatchOptions{.batch = config_.batch_size,
                         .length = config_.network.length,
                         .first = rows.first,
                         .count = rows.count,
                         .seed = static_cast<uint64_t>(config_.seed)});
  });
  if (config_.resident)
    resident_ = std::make_unique<ResidentRounds>(
        config_, session, *minibatches_,
        ResidentRoundsOptions{.examples = resident_set().examples, .threads = reading_threads()});
  held_out_ = std::make_unique<HeldOutText>(*corpus_, config_.network.length, session);
}

std::vector<std::string> TextTask::notes() const {
  std::vector<std::string> notes{corpus_->text()};
  if (resident_) notes.push_back(resident_->note());
  return notes;
}

NamedTexts TextTask::examples() const {
  return {{"held out", count_of(held_out_->characters(), "character", "characters")}};
}

std::map<std::string, std::string> TextTask::metadata() const {
  return text_metadata(corpus_->vocabulary().bytes());
}

NamedNumbers TextTask::numbers_of(double loss) const {
  NamedNumbers numbers = numbers_with(loss, {.characters = 1, .loss = loss});
  numbers.erase(numbers.begin());
  return numbers;
}

std::string TextTask::text_of(double loss, const NamedNumbers&) const {
  const TextScore score{.characters = 1, .loss = loss};
  return join("loss ", fixed(loss, 4), "  ", bits_text(score.bits_per_character()));
}

// The score is a probability, shown in bits.
ScoreKind TextTask::score_kind() const {
  return {"mean_probability", "held-out text", "held_out_mean_probability"};
}

std::string TextTask::text_of_score(double score) const { return bits_text(-std::log2(score)); }

std::vector<CurveChart> TextTask::charts() const {
  return {{"Bits per character",
           {{"bits_per_character", "training", "blue"},
            {"test_bits_per_character", "held out", "orange", true}},
           Scale::linear},
          {"Perplexity",
           {{"perplexity", "training", "blue"}, {"test_perplexity", "held out", "orange", true}},
           Scale::log}};
}

// The sample begins after a line feed, or after the text's first character.
std::string TextTask::sample(int64_t iterations) const {
  const Vocabulary& vocabulary = corpus_->vocabulary();
  Program& inference = session_->inference();
  TextSampler sampler(
      session_->model().inference, inference.feeds(), vocabulary,
      [&](std::span<const Tensor> feeds) { return inference.run(feeds, session_->run_options(0)); },
      config_.model);
  const char first = vocabulary.has('\n') ? '\n' : vocabulary.byte(corpus_->training()[0]);
  return sampler.after({first}, {.length = config_.sample_length,
                                 .temperature = config_.temperature,
                                 .seed = static_cast<uint64_t>(config_.seed),
                                 .draw = static_cast<uint64_t>(iterations)});
}

HeldOutTest TextTask::test(int64_t iterations) {
  const TextScore score = held_out_->test();
  HeldOutTest test;
  test.numbers = numbers_with(score.loss, score);
  test.numbers.emplace_back("mean_probability", score.mean_probability());
  test.score = score.mean_probability();
  test.measured = score.loss;
  test.larger_is_better = false;
  if (!std::isfinite(score.loss))
    test.trouble = join("the held-out loss is ", fixed(score.loss, 4));
  test.headline = join("held out ", bits_text(score.bits_per_character()));
  test.detail = join("loss ", fixed(score.loss, 4), "  perplexity ", fixed(score.perplexity(), 3));
  const bool leads = !session_->comm() || session_->comm()->rank() == 0;
  if (!leads || config_.sample_length == 0 || !test.trouble.empty()) return test;
  test.section = join(
      "<h2>Sampled text</h2>\n<p>After iteration ", iterations, ", at temperature ",
      config_.temperature, ", from seed ", config_.seed,
      "; the network draws each character from its probabilities.</p>\n<pre class=\"written\">",
      escaped(printable_lines(sample(iterations))), "</pre>\n");
  return test;
}

}  // namespace lockstep
