// SPDX-License-Identifier: Apache-2.0
#include "app/control/control_task.h"

#include <sstream>

#include "app/control/film.h"
#include "app/control/played.h"
#include "app/format.h"
#include "graph/limits.h"
#include "lockstep/data_parallel.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"

namespace lockstep {
namespace {

constexpr uint64_t kTestSeed = 1;  // equal episodes in every test, of any run

int64_t replicas_of_run(const Session& session) {
  return std::max(session.model().whole_replicas, session.model().replicas);
}
int64_t episodes_of_replica(const ControlConfig& config, const Session& session) {
  const int64_t replicas = replicas_of_run(session);
  return (config.test_episodes + replicas - 1) / replicas;
}

std::string section_of(const EnvironmentKind& kind, const GreedyResult& result,
                       const EpisodeMeans& means, int64_t iterations) {
  int64_t whole = 0;
  for (const Episode& episode : result.episodes) whole += episode.cut;
  std::ostringstream out;
  out << "<h2>Test after " << short_number(static_cast<double>(iterations)) << " iterations</h2>\n"
      << "<p>" << result.episodes.size()
      << " fresh episodes, in which the likeliest action is taken. Mean return "
      << fixed(means.sum, 2) << ", least " << short_number(means.least) << ", most "
      << short_number(means.most) << "; " << whole << " of them lasted for all " << kind.time_limit
      << " steps. This is the first.</p>\n"
      << film_of(kind, result.film);
  return out.str();
}

}  // namespace

TrainingModel build_control_model(const ControlConfig& config, int processes) {
  DataParallelOptions options = options_of(config.step, config.run, processes);
  options.resident.rows = {kObservation, kPolicyInputs.action, kPolicyInputs.log_probability,
                           kPolicyInputs.advantage, kPolicyInputs.target};
  options.resident.limits = {.minibatch = config.batch_size / options.replicas,
                             .capacity = config.rows() / options.replicas};
  const EnvironmentKind& kind = config.kind();
  return build_data_parallel_model(all_ops(),
                                   actor_critic({.observations = kind.observations,
                                                 .actions = kind.actions,
                                                 .hidden = config.hidden,
                                                 .loss = config.loss}),
                                   optimizer_of(config.optimizer, config.schedule.scale_momentum),
                                   options);
}

ControlTest::ControlTest(const ControlConfig& config, Session& session)
    : config_(config),
      session_(session),
      first_(session.model().first_replica * episodes_of_replica(config, session)),
      count_(session.model().replicas * episodes_of_replica(config, session)),
      policy_(session, config.kind(), count_) {}

GreedyResult ControlTest::play() {
  GreedyResult result =
      play_greedily(config_.kind(), policy_, {.seed = kTestSeed, .first = first_, .count = count_});
  std::erase_if(result.episodes, [this](const Episode& episode) {
    return episode.environment >= config_.test_episodes;
  });
  result.episodes = of_all_ranks(session_.comm(), result.episodes);
  return result;
}

std::vector<std::pair<std::string, std::string>> ControlTask::changed() {
  ControlConfig defaults;
  return changed_settings(keys(), keys_of(defaults));
}

// Checks the memory for an iteration's rows before the step that stores them is built.
void ControlTask::prepare() {
  const auto values = config_.kind().observations + 4;
  const auto copies = std::size_t{3};  // as collected, in the batch's order, and on the devices
  check_memory(config_.rows() * values * 4 * copies,
               join("the batch of CONTROL.ENVIRONMENTS ", config_.environments,
                    " with CONTROL.STEPS ", config_.steps));
}

std::vector<TrainingModel> ControlTask::steps(int processes) const {
  std::vector<TrainingModel> steps;
  steps.push_back(build_control_model(config_, processes));
  return steps;
}

std::optional<WeightsOptions> ControlTask::first_weights() const {
  if (config_.weights.empty()) return std::nullopt;
  return WeightsOptions{.path = config_.weights};
}

void ControlTask::open(Session& session, const Rows& rows) {
  rounds_ = std::make_unique<ControlRounds>(config_, session, rows.first / config_.steps,
                                            rows.count / config_.steps);
  test_ = std::make_unique<ControlTest>(config_, session);
}

std::map<std::string, std::string> ControlTask::metadata() const {
  return {{"environment", config_.environment}};
}

const MinibatchSource& ControlTask::minibatches() const {
  fail("training for control goes in rounds; it has no source of minibatches");
}

NamedTexts ControlTask::examples() const {
  return {{"test", count_of(config_.test_episodes, "episode", "episodes")}};
}

std::vector<std::string> ControlTask::notes() const {
  return {join(config_.environments, " environments, ", config_.steps,
               " steps of each an iteration, swept ", config_.epochs,
               " times: ", lockstep::text_of(rounds_->shares()))};
}

std::string ControlTask::text_of(double loss, const NamedNumbers& numbers) const {
  std::string text = join("loss ", fixed(loss, 3));
  for (const auto& [name, number] : numbers) {
    if (name == "mean_return") text += "  return " + fixed(number, 1);
    if (name == "entropy") text += "  entropy " + fixed(number, 3);
  }
  return text;
}

ScoreKind ControlTask::score_kind() const {
  return {"mean_return", "mean return of a test", "share_of_most_return"};
}

std::string ControlTask::text_of_score(double score) const { return fixed(score, 2); }

std::vector<CurveChart> ControlTask::charts() const {
  return {{"Mean return",
           {{"mean_return", "training, last 100 episodes", "blue"},
            {"test_mean_return", "test", "orange", true}},
           Scale::from_zero},
          {"Value loss", {{"value_loss", "value", "blue"}}, Scale::log},
          {"Policy loss", {{"policy_loss", "policy", "blue"}}, Scale::linear},
          {"Entropy of the policy", {{"entropy", "entropy", "green"}}, Scale::from_zero},
          {"Change of the policy in an iteration",
           {{"divergence", "divergence", "purple"}, {"clipped", "share of clipped rows", "orange"}},
           Scale::from_zero}};
}

HeldOutTest ControlTask::test(int64_t iterations) {
  const GreedyResult result = test_->play();
  const EpisodeMeans means = means_of(result.episodes);
  HeldOutTest test;
  test.numbers = {
      {"mean_return", means.sum}, {"episode_length", means.steps}, {"least_return", means.least}};
  test.score = std::clamp(means.sum / config_.kind().most_return, 0.0, 1.0);
  test.measured = means.sum;
  test.headline =
      join("mean return ", fixed(means.sum, 2), " over ", result.episodes.size(), " episodes");
  test.detail = join("from ", short_number(means.least), " to ", short_number(means.most));
  test.section = section_of(config_.kind(), result, means, iterations);
  return test;
}

bool ControlTask::is_enough(const HeldOutTest& result) const {
  return config_.stop_at > 0 && result.numbers.at(0).second >= config_.stop_at;
}

}  // namespace lockstep
