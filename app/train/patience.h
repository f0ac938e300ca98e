// SPDX-License-Identifier: Apache-2.0
// The end of a run that no longer gets better (TEST.PATIENCE).
#pragma once

#include <cstdint>
#include <string>

#include "app/train/testing.h"
#include "lockstep/checkpoint.h"
#include "lockstep/processes.h"

namespace lockstep {

// Counts the tests since the best score. All processes make the same calls; rank 0's scores decide
// for all of them.
class Patience {
 public:
  // `most` is the number of tests without a better score that end the run; 0: no test ends it.
  Patience(int64_t most, Comm* comm) : most_(most), comm_(comm) {}

  // Takes the result of a test after `iterations`, unless that test has been taken; the result is
  // complete only on rank 0.
  void tested(const HeldOutTest& result, int64_t iterations);
  bool is_over() const { return most_ > 0 && without_ >= most_; }
  // The reason for the end, with the score's name for people.
  std::string why(const std::string& score) const;

  // `metadata` with the tests so far, and back. Throws for a damaged state, naming the file.
  Metadata noted(Metadata metadata) const;
  void go_on_from(const Metadata& saved, const std::string& path);
  // True if the state of a checkpoint after `iterations`, at a test, lacks the test's result.
  bool lacks(int64_t iterations) const { return most_ > 0 && goes_on_ && last_at_ < iterations; }

 private:
  static constexpr double kWorthless = -1;  // below every score

  int64_t most_;
  Comm* comm_;
  bool goes_on_ = false;  // from a checkpoint with a state
  double best_ = kWorthless;
  int64_t best_at_ = 0, last_at_ = 0;  // iterations
  int64_t without_ = 0;                // tests since the best
};

}  // namespace lockstep
