// SPDX-License-Identifier: Apache-2.0
// SOLVER.LR_POLICY plateau: the tests of a run decide when the learning rate falls.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "app/train/testing.h"
#include "lockstep/checkpoint.h"
#include "lockstep/optimizers.h"
#include "lockstep/processes.h"

namespace lockstep {

// All processes of a run make the same calls. No call has an effect with another policy.
class Plateau {
 public:
  // Appends to schedule.drops. `comm` connects the processes of the run, or is null.
  Plateau(LrSchedule& schedule, Comm* comm);

  bool is_used() const { return schedule_.policy == "plateau"; }
  // Takes the score of a test after `iterations`; only rank 0's result counts. A network that makes
  // non-finite numbers has the worst score.
  void tested(const HeldOutTest& result, int64_t iterations);

  // `metadata` with the state of the policy, and back. Throws for a damaged state, naming the file.
  Metadata noted(Metadata metadata) const;
  void go_on_from(const Metadata& saved, const std::string& path);

 private:
  std::string text() const;
  void read(const std::string& text);

  LrSchedule& schedule_;
  Comm* comm_;
  double best_ = -std::numeric_limits<double>::infinity();
  int64_t not_better_ = 0, cooling_ = 0;  // numbers of tests
};

}  // namespace lockstep
