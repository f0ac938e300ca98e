// SPDX-License-Identifier: Apache-2.0
// An environment: a small world that an action moves on by one step, and that answers with a reward
// and what can be seen of it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/philox.h"

namespace lockstep {

class Environment {
 public:
  virtual ~Environment() = default;

  // Begins an episode.
  virtual void begin(PhiloxSequence& random) = 0;
  struct Moved {
    double reward = 0;
    bool over = false;  // the episode has reached its end; a time limit is none
  };
  // `action`: from 0 to EnvironmentKind::actions - 1.
  virtual Moved move(int64_t action) = 0;
  // EnvironmentKind::observations values.
  virtual void observe(std::span<float> values) const = 0;

  // All that decides the rest of the episode: EnvironmentKind::states numbers.
  virtual std::vector<double> state() const = 0;
  virtual void restore(std::span<const double> state) = 0;
};

struct EnvironmentKind {
  std::string name;
  int64_t observations = 0;  // values of one
  int64_t actions = 0;
  std::size_t states = 0;
  int64_t time_limit = 0;  // steps of an episode at most
  double most_return = 0;  // of an episode: the sum of its rewards
  std::unique_ptr<Environment> (*make)() = nullptr;
};

// Throws for an unknown name, with the nearest one.
const EnvironmentKind& environment_named(const std::string& name);
std::vector<std::string> environment_names();

}  // namespace lockstep
