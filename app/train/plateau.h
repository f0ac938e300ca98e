// SPDX-License-Identifier: Apache-2.0
// SOLVER.LR_POLICY plateau: the tests of a run decide when the learning rate falls.
#pragma once

#include <cstdint>
#include <optional>
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

  // Takes the result of a test after `iterations`, unless that test has been taken; only rank 0's
  // result counts. A network that makes non-finite numbers is no better than any other.
  void tested(const HeldOutTest& result, int64_t iterations);

  // `metadata` with the tests so far, and back. Throws for a damaged state, naming the file.
  Metadata noted(Metadata metadata) const;
  void go_on_from(const Metadata& saved, const std::string& path);
  // Forgets the results, but not the drops of the rate: the next tests measure something else.
  void forget_results();
  // True if the state of a checkpoint after `iterations`, at a test, lacks the test's result.
  bool lacks(int64_t iterations) const;

 private:
  bool is_used() const;
  bool is_better(const HeldOutTest& result) const;
  std::string text() const;
  void read(const std::string& text);

  LrSchedule& schedule_;
  Comm* comm_;
  bool goes_on_ = false;  // from a checkpoint with a state
  std::optional<double> best_;
  int64_t not_better_ = 0, cooling_ = 0;  // numbers of tests
  int64_t last_at_ = 0;                   // iterations before the last test
};

}  // namespace lockstep
