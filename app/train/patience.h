// SPDX-License-Identifier: Apache-2.0
// The end of a run that no longer gets better (TEST.PATIENCE).
#pragma once

#include <cstdint>
#include <string>

#include "app/train/testing.h"
#include "lockstep/processes.h"

namespace lockstep {

// Counts the tests since the best score. All processes make the same calls; rank 0's scores decide
// for all of them.
class Patience {
 public:
  // `most` is the number of tests without a better score that end the run; 0: no test ends it.
  Patience(int64_t most, Comm* comm) : most_(most), comm_(comm) {}

  // Takes the result of a test after `iterations`, which is complete only on rank 0.
  void tested(const HeldOutTest& result, int64_t iterations);
  bool is_over() const { return most_ > 0 && without_ >= most_; }
  // The reason for the end, with the score's name for people.
  std::string why(const std::string& score) const;

  // The tests so far, as a checkpoint stores them; "" if tests are not counted.
  std::string text() const;
  // Continues with the text from the metadata of the checkpoint `path`. Throws if it is malformed.
  void go_on_with(const std::string& text, const std::string& path);
  // True if a run that continues after `iterations` still owes their test. A run tests its last
  // iteration after its last checkpoint, so the checkpoint lacks the result.
  bool lacks_test_after(int64_t iterations, int64_t test_iters) const;

 private:
  int64_t most_;
  Comm* comm_;
  double best_ = -1;
  int64_t best_at_ = 0, last_at_ = 0;  // iterations
  int64_t without_ = 0;                // tests since the best
};

}  // namespace lockstep
