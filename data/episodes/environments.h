// SPDX-License-Identifier: Apache-2.0
// Many environments of one kind that take their steps together. Whenever one's episode ends, it
// begins the next.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/episodes/environment.h"

namespace lockstep {

struct Episode {
  int64_t environment = 0;  // its number in the run
  int64_t steps = 0;
  double sum = 0;    // of its rewards: the return
  bool cut = false;  // by the time limit
};

struct EnvironmentsOptions {
  uint64_t seed = 1;
  bool held_out = false;         // other episodes than those for training
  int64_t first = 0, count = 1;  // the numbers of these among all of the run
};

class Environments {
 public:
  // How an episode begins depends on the seed, the environment's number and the episode's alone.
  Environments(const EnvironmentKind& kind, const EnvironmentsOptions& options);

  const EnvironmentKind& kind() const { return kind_; }
  int64_t first() const { return options_.first; }
  int64_t count() const { return options_.count; }

  // [count, values], now.
  std::span<const float> observations() const { return observations_; }

  // What a step did to one environment.
  struct Step {
    double reward = 0;
    bool over = false;  // its episode reached its end
    bool cut = false;   // the time limit ended it; what would have followed is unknown
    bool ended() const { return over || cut; }
  };
  // Takes an action of each. The results are valid until the next step.
  std::span<const Step> step(std::span<const int64_t> actions);
  // [count, values], before the next episodes began: where the last step led.
  std::span<const float> reached() const { return reached_; }
  // Those that the last step ended, by number.
  const std::vector<Episode>& ended() const { return ended_; }

  std::vector<double> state(int64_t environment) const;
  // All of them, between two steps, as a line for each.
  std::string text() const;
  // Throws if it is no such text, or of other environments than these.
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

}  // namespace lockstep
