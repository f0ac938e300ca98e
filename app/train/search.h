// SPDX-License-Identifier: Apache-2.0
// Non-finite losses, and the search for their origin. All processes of a run make the same calls
// after the same steps, and get equal results.
#pragma once

#include <chrono>
#include <limits>
#include <optional>
#include <string>

#include "lockstep/processes.h"
#include "lockstep/session_options.h"

namespace lockstep {

struct BadLoss {
  int64_t step = 0;
  int rank = 0;
  const char* value = "";  // nan, inf, -inf
};

// Records a process's losses. Several processes agree on the first non-finite loss every tenth of a
// second, because agreement after every step could take longer than the step.
class LossWatch {
 public:
  explicit LossWatch(Comm* comm) : comm_(comm) {}

  void note(int64_t step, float loss);
  // Called after step number `step`.
  bool is_time(int64_t step) const { return !comm_ || step >= next_; }
  std::optional<BadLoss> agree(int64_t step);

 private:
  Comm* comm_;
  uint64_t first_ = std::numeric_limits<uint64_t>::max();  // step, rank and value of this process's
                                                           // first non-finite loss
  int64_t agreed_ = -1, next_ = 0;                         // steps
  std::chrono::steady_clock::time_point when_ = std::chrono::steady_clock::now();
};

// A process's finding in a step. Feeds take precedence over computed values, and computed values
// over received values, which other processes can trace.
struct Suspect {
  enum class Kind { fed, computed, received, none } kind = Kind::none;
  int step = 0;      // in the plan
  std::string text;  // "": none
};
Suspect suspect_of(const std::string& fed, const NotFinite& found);
// The first of all ranks' findings by precedence, with the rank in its text.
Suspect foremost(Comm* comm, const Suspect& mine);

}  // namespace lockstep
