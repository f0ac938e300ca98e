// SPDX-License-Identifier: Apache-2.0
// Iterations whose data no loader feeds. In each iteration the task runs any number of steps of the
// session, perhaps on a batch that it first gathers with the network.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/train/step_result.h"
#include "lockstep/session_options.h"
#include "runtime/exec/executor.h"

namespace lockstep {

// All processes of a run make the same calls. A round depends only on its number, the session's
// states and text().
class Rounds {
 public:
  virtual ~Rounds() = default;

  // The names of a round's numbers, which follow the means of the model's numbers.
  virtual std::vector<std::string> number_names() const = 0;
  // Runs the round number `round` of the run. If `not_finite` is set, all values are checked and
  // the first non-finite value is stored there.
  virtual StepResult run(int64_t round, NotFinite* not_finite) = 0;
  virtual double gathering_seconds() const = 0;  // up to now
  // The first non-finite value in the data of a round that has data before its steps, or "".
  virtual std::string not_finite_in(int64_t /*round*/) { return ""; }

  // False if a round depends on its number and the session's states alone: checkpoints then store
  // no text().
  virtual bool has_text() const { return true; }
  // The state of the rounds besides the session's states, of all processes; complete on rank 0.
  virtual std::string text() = 0;
  // Continues from text(); "" starts from the seed. Throws for a text of other rounds.
  virtual void restore(const std::string& text) = 0;
};

}  // namespace lockstep
