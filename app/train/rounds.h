// SPDX-License-Identifier: Apache-2.0
// Steps of a run that are more than one minibatch from a source: in each the task itself gathers a
// batch, perhaps with the help of the network, and takes as many steps of the session as it likes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/train/step_result.h"
#include "runtime/exec/executor.h"

namespace lockstep {

// All processes of a run make the same calls. What a round does depends on its number, the
// session's states and text() alone.
class Rounds {
 public:
  virtual ~Rounds() = default;

  // What a round tells besides the numbers of the session's model, whose means come first.
  virtual std::vector<std::string> number_names() const = 0;
  // Step number `round` of the run. If `not_finite` is set, all values are checked and the first
  // bad one is stored there.
  virtual StepResult run(int64_t round, NotFinite* not_finite) = 0;
  virtual double gathering_seconds() const = 0;  // up to now

  // All that the rounds to come need beside the session's states: that of all processes, on rank 0.
  virtual std::string text() = 0;
  // Goes on from there; "": starts from the seed. Throws if it is the text of other rounds.
  virtual void restore(const std::string& text) = 0;
};

}  // namespace lockstep
