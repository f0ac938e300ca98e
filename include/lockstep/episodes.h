// SPDX-License-Identifier: Apache-2.0
// Reinforcement learning: environments, rollouts by a policy, greedy tests.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lockstep/random.h"

namespace lockstep {

// A small simulated world: an action moves it on by one step, and yields a reward and an
// observation.
class Environment {
 public:
  virtual ~Environment() = default;

  // Begins an episode in a random state.
  virtual void begin(PhiloxSequence& random) = 0;
  struct Moved {
    double reward = 0;
    bool over = false;  // the episode has reached its end; the time limit is the caller's
  };
  // Takes one step. `action`: from 0 to EnvironmentKind::actions - 1.
  virtual Moved move(int64_t action) = 0;
  // Writes the EnvironmentKind::observations values of the present state.
  virtual void observe(std::span<float> values) const = 0;

  // The numbers that determine the rest of the episode: EnvironmentKind::states of them.
  virtual std::vector<double> state() const = 0;
  virtual void restore(std::span<const double> state) = 0;
};

struct EnvironmentKind {
  std::string name;
  int64_t observations = 0;  // values of one observation
  int64_t actions = 0;       // the number of actions to choose from
  std::size_t states = 0;    // numbers of Environment::state()
  int64_t time_limit = 0;    // the most steps of an episode
  double most_return = 0;    // the largest possible return, the sum of an episode's rewards
  std::unique_ptr<Environment> (*make)() = nullptr;
};

// Throws for an unknown name, with the nearest one.
const EnvironmentKind& environment_named(const std::string& name);
std::vector<std::string> environment_names();

struct Episode {
  int64_t environment = 0;  // its number in the run
  int64_t steps = 0;
  double sum = 0;    // of its rewards: the return
  bool cut = false;  // true: ended by the time limit
};

struct EnvironmentsOptions {
  uint64_t seed = 1;
  bool held_out = false;         // true: episodes that training does not see
  int64_t first = 0, count = 1;  // numbers in the run: first to first + count - 1
};

// Many environments of one kind that step together. An environment whose episode ends begins the
// next episode.
class Environments {
 public:
  // An episode's beginning depends on the seed, the environment's number and the episode's number
  // alone.
  Environments(const EnvironmentKind& kind, const EnvironmentsOptions& options);

  const EnvironmentKind& kind() const { return kind_; }
  int64_t first() const { return options_.first; }
  int64_t count() const { return options_.count; }

  // The present observations [count, values]; valid until the next step.
  std::span<const float> observations() const { return observations_; }

  // The result of a step for one environment.
  struct Step {
    double reward = 0;
    bool over = false;  // its episode reached its end
    bool cut = false;   // the time limit ended the episode; its further course is unknown
    bool ended() const { return over || cut; }
  };
  // Takes one action for each environment. The results are valid until the next step.
  std::span<const Step> step(std::span<const int64_t> actions);
  // [count, values]: the observations after the last step, before new episodes began.
  std::span<const float> reached() const { return reached_; }
  // The episodes that the last step ended, in order of their environments.
  const std::vector<Episode>& ended() const { return ended_; }

  // Environment::state() of the environment with this number in the run.
  std::vector<double> state(int64_t environment) const;
  // The state of all environments between two steps, a line for each.
  std::string text() const;
  // Restores the state that text() returned. Throws if `text` has another form or is of other
  // environments; some environments may then already be restored.
  void restore(const std::string& text);

 private:
  struct One {
    std::unique_ptr<Environment> world;
    int64_t episode = 0, steps = 0;
    double sum = 0;
  };
  void begin(int64_t number, One& one);
  std::span<float> row(std::vector<float>& rows, int64_t index) const;
  void observe(int64_t index, std::vector<float>& rows);
  int64_t number_of(int64_t index) const { return options_.first + index; }

  EnvironmentKind kind_;
  EnvironmentsOptions options_;
  std::vector<One> all_;
  std::vector<float> observations_, reached_;
  std::vector<Step> steps_;
  std::vector<Episode> ended_;
};

struct Predicted {
  std::span<const float> log_probabilities;  // [rows, actions]
  std::span<const float> values;             // [rows]: the return expected from here on
};

// Computes a policy's predictions. The owner of the network implements this interface; rollouts
// call it.
class Predictor {
 public:
  virtual ~Predictor() = default;
  // `observations`: [rows, values], with the same number of rows in every call. The result is valid
  // until the next call.
  virtual Predicted predict(std::span<const float> observations) = 0;
};

// Generalised advantage estimation (Schulman et al. 2016): how much better than expected an action
// was.
struct AdvantageOptions {
  double discount = 0.99;  // of a reward, per step into the future
  double lambda = 0.95;    // 0: looks one step ahead, 1: to the end
};

// Steps of many environments with the actions that a policy drew. Rows: all steps of the first
// environment, then of the second, ..
struct Rollout {
  int64_t rows = 0;
  std::vector<float> observations;       // [rows, values]
  std::vector<int64_t> actions;          // [rows]
  std::vector<float> log_probabilities;  // of the actions, when they were drawn
  std::vector<float> values;             // predicted when the actions were drawn
  std::vector<float> advantages;         // not normalised
  std::vector<Episode> episodes;         // the ended episodes, in the order of their ends
};

struct CollectorOptions {
  int64_t steps = 128;  // of each environment in a rollout
  uint64_t seed = 1;
  AdvantageOptions advantages = {};
};

// Plays rollouts with a policy.
class Collector {
 public:
  // `environments` and `policy` must outlive the collector.
  Collector(Environments& environments, Predictor& policy, const CollectorOptions& options);

  // Plays rollout `number` of the run from the environments' present states. Random draws depend on
  // the seed, the environment's number and the step's number in the run, which begins at `number` *
  // steps. The result is valid until the next call.
  const Rollout& collect(int64_t number);

 private:
  void draw(int64_t position, const Predicted& predicted);
  void take(int64_t t, const Predicted& predicted);
  void add_results(int64_t t, std::span<const Environments::Step> results);
  void add_advantages();
  std::size_t at(int64_t environment, int64_t t) const { return environment * options_.steps + t; }

  Environments& environments_;
  Predictor& policy_;
  CollectorOptions options_;
  Rollout rollout_;
  std::vector<int64_t> drawn_;
  std::vector<double> rewards_;     // by row, as the next two
  std::vector<float> next_values_;  // predicted after the step
  std::unique_ptr<bool[]> ends_;
};

struct GreedyOptions {
  uint64_t seed = 1;
  int64_t first = 0, count = 1;  // numbers in the test: first to first + count - 1
};

struct GreedyResult {
  std::vector<Episode> episodes;  // by number
  // The states of the first episode (Environment::state()), step by step.
  std::vector<std::vector<double>> film;
};

// Tests a policy: fresh episodes in which it always takes the most likely action. Each episode has
// a separate environment.
GreedyResult play_greedily(const EnvironmentKind& kind, Predictor& policy,
                           const GreedyOptions& options);

}  // namespace lockstep
