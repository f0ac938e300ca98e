// SPDX-License-Identifier: Apache-2.0
#include "app/control/control_rounds.h"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "app/control/played.h"
#include "app/format.h"
#include "builders/resident/inputs.h"
#include "builders/resident/load.h"
#include "lockstep/models.h"
#include "lockstep/random.h"
#include "lockstep/session_options.h"
#include "runtime/dist/agree.h"

namespace lockstep {
namespace {

constexpr std::size_t kRecent = 100;                    // episodes in the mean return
constexpr uint64_t kRowOrder = uint64_t{1} << 59;       // the streams of shuffles
constexpr const char* kEpisodes = "recent episodes\n";  // in text(), after the environments

ResidentLoad shares_of(const ControlConfig& config, const TrainingModel& model) {
  return resident_load(read_resident(model).limits, std::max(model.whole_replicas, model.replicas),
                       config.rows());
}

}  // namespace

ControlRounds::ControlRounds(const ControlConfig& config, Session& session, int64_t first,
                             int64_t count)
    : config_(config),
      session_(session),
      kind_(config.kind()),
      first_(first),
      count_(count),
      shares_(shares_of(config, session.model())),
      resident_(session),
      policy_(session, kind_, count, Reads::parameters) {
  const std::size_t rows = config.rows();
  batch_.observations.resize(rows * kind_.observations);
  batch_.actions.resize(rows);
  for (auto* numbers : {&batch_.log_probabilities, &batch_.advantages, &batch_.targets})
    numbers->resize(rows);
  begin();
}

void ControlRounds::begin() {
  const auto seed = static_cast<uint64_t>(config_.seed);
  environments_ = std::make_unique<Environments>(
      kind_, EnvironmentsOptions{.seed = seed, .first = first_, .count = count_});
  collector_ = std::make_unique<Collector>(
      *environments_, policy_,
      CollectorOptions{.steps = config_.steps, .seed = seed, .advantages = config_.advantages});
  recent_.clear();
}

std::vector<std::string> ControlRounds::number_names() const {
  return {"mean_return", "episode_length", "episodes"};
}

StepResult ControlRounds::run(int64_t round, NotFinite* not_finite) {
  const auto start = std::chrono::steady_clock::now();
  const Rollout& rollout = collector_->collect(round);
  const std::vector<Episode> ended = of_all_ranks(session_.comm(), rollout.episodes);
  recent_.insert(recent_.end(), ended.begin(), ended.end());
  if (recent_.size() > kRecent)
    recent_.erase(recent_.begin(), recent_.end() - static_cast<std::ptrdiff_t>(kRecent));
  fill(rollout, spread_of(session_.comm(), rollout.advantages, config_.steps), round);
  load();
  gathering_ += seconds_since(start);
  StepResult result = sweep(round, not_finite);
  add_episode_numbers(result, static_cast<int64_t>(ended.size()));
  return result;
}

// Copies each replica's rows in a random order: a minibatch is a slice and should not come from one
// environment alone. Normalises advantages to mean 0 and deviation 1. The value's target is the
// predicted value plus the advantage before normalisation.
void ControlRounds::fill(const Rollout& rollout, const Spread& spread, int64_t round) {
  constexpr double kTiny = 1e-8;
  const std::size_t values = kind_.observations;
  const std::size_t first = first_ * config_.steps;
  const int64_t each = config_.rows() / shares_.replicas;
  for (int64_t replica = 0; replica * each < rollout.rows; ++replica) {
    std::vector<int64_t> order(each);
    std::iota(order.begin(), order.end(), replica * each);
    const auto number = static_cast<uint64_t>(session_.model().first_replica + replica);
    shuffle(order, static_cast<uint64_t>(config_.seed),
            kRowOrder | number << 32U | static_cast<uint64_t>(round));
    std::size_t to = first + replica * each;
    for (int64_t row : order) {
      const std::size_t from = row;
      std::copy_n(rollout.observations.begin() + static_cast<std::ptrdiff_t>(from * values), values,
                  batch_.observations.begin() + static_cast<std::ptrdiff_t>(to * values));
      batch_.actions[to] = rollout.actions[from];
      batch_.log_probabilities[to] = rollout.log_probabilities[from];
      const auto advantage = static_cast<double>(rollout.advantages[from]);
      batch_.advantages[to] =
          static_cast<float>((advantage - spread.mean) / (spread.deviation + kTiny));
      batch_.targets[to] = rollout.advantages[from] + rollout.values[from];
      ++to;
    }
  }
}

void ControlRounds::load() {
  const int64_t rows = config_.rows();
  const auto of = [&](auto& numbers) {
    return Tensor{{dtype_of<std::remove_reference_t<decltype(numbers[0])>>(), {rows}},
                  numbers.data()};
  };
  (void)resident_.load(
      {{kObservation, {{DType::float32, {rows, kind_.observations}}, batch_.observations.data()}},
       {kPolicyInputs.action, of(batch_.actions)},
       {kPolicyInputs.log_probability, of(batch_.log_probabilities)},
       {kPolicyInputs.advantage, of(batch_.advantages)},
       {kPolicyInputs.target, of(batch_.targets)}});
}

// Runs the round's steps. The round's numbers are means over the steps that were not skipped.
StepResult ControlRounds::sweep(int64_t round, NotFinite* not_finite) {
  Feeds& feeds = resident_.feeds();
  feeds.set(Role::rate, learning_rate(config_.schedule, round));
  const bool corrects = feeds.has(Role::correction);
  if (corrects) feeds.set(Role::correction, momentum_correction(config_.schedule, round));
  const TrainingModel& model = session_.model();
  const int64_t steps = config_.epochs * shares_.minibatches();
  StepResult mean;
  mean.numbers.resize(numbers_of(model).size());
  double loss = 0;
  std::vector<double> sums(mean.numbers.size());
  int64_t counted = 0;
  resident_.sweep({.epochs = config_.epochs,
                   .seed = static_cast<uint64_t>(config_.seed),
                   .first_epoch = round * config_.epochs,
                   .first_step = static_cast<uint64_t>(round * steps),
                   .not_finite = not_finite},
                  [&](uint64_t, const Results& answers) {
                    if (corrects) feeds.set(Role::correction, 1);  // the rate jumps once a round
                    const StepResult step = result_of(model, answers);
                    if (!step.skipped.empty()) {
                      mean.skipped = step.skipped;
                      mean.skipped_here |= step.skipped_here;
                      return;
                    }
                    ++counted;
                    loss += static_cast<double>(step.loss);
                    for (std::size_t i = 0; i < sums.size(); ++i)
                      sums[i] += static_cast<double>(step.numbers[i]);
                  });
  if (counted == 0) return mean;
  mean.skipped.clear();  // a round that learnt something was not skipped
  mean.skipped_here = false;
  mean.loss = static_cast<float>(loss / static_cast<double>(counted));
  for (std::size_t i = 0; i < sums.size(); ++i)
    mean.numbers[i] = static_cast<float>(sums[i] / static_cast<double>(counted));
  return mean;
}

// Every process has these numbers, but only rank 0 reports them: the ranks' numbers are added.
void ControlRounds::add_episode_numbers(StepResult& result, int64_t ended) {
  const EpisodeMeans means = means_of(recent_);
  for (double number : {means.sum, means.steps, static_cast<double>(ended)})
    result.numbers.push_back(leads() ? static_cast<float>(number) : 0);
}

std::string ControlRounds::text() {
  std::string all = environments_->text();
  if (session_.comm()) {
    const auto texts = gather_texts(*session_.comm(), all, "the states of environments");
    all.clear();
    for (const std::string& text : texts) all += text;
  }
  return all + kEpisodes + text_of(recent_);
}

void ControlRounds::restore(const std::string& text) {
  begin();
  if (text.empty()) return;
  const std::size_t end = text.find(kEpisodes);
  check(end != text.npos, "the checkpoint is damaged: its rounds lack the line '",
        std::string(kEpisodes).substr(0, std::string(kEpisodes).size() - 1), "'");
  std::istringstream lines(text.substr(0, end));
  std::string mine;
  int64_t number = 0;
  for (std::string line; std::getline(lines, line); ++number)
    if (number >= first_ && number < first_ + count_) mine += line + "\n";
  check(number == config_.environments, "the checkpoint has ", number,
        " environments, but CONTROL.ENVIRONMENTS is ", config_.environments);
  environments_->restore(mine);
  recent_ =
      episodes_in(text.substr(end + std::string(kEpisodes).size()), "the checkpoint's rounds");
}

}  // namespace lockstep
