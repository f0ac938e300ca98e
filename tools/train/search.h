// A loss that is not finite, and where that began. All processes of a run ask alike, after the same
// steps, and all get the same answer.
#pragma once

#include <chrono>
#include <limits>
#include <optional>
#include <string>

#include "runtime/comm.h"
#include "runtime/exec/executor.h"

namespace lockstep {

struct BadLoss {
  int64_t step = 0;
  int rank = 0;
  const char* value = "";  // nan, inf, -inf
};

// Each process notes what its losses are. Several agree every tenth of a second on the first one
// that is not finite: to ask after every step could take longer than the step.
class LossWatch {
 public:
  explicit LossWatch(Comm* comm) : comm_(comm) {}

  void note(int64_t step, float loss);
  // After step number `step`.
  bool is_time(int64_t step) const { return !comm_ || step >= next_; }
  std::optional<BadLoss> agree(int64_t step);

 private:
  Comm* comm_;
  uint64_t first_ = std::numeric_limits<uint64_t>::max();  // step, rank and value of this process's
  int64_t agreed_ = -1, next_ = 0;                         // steps
  std::chrono::steady_clock::time_point when_ = std::chrono::steady_clock::now();
};

// What a process found in a step. What was fed comes before what was computed, and both before what
// came from another process, which knows better.
struct Suspect {
  enum class Kind { fed, computed, received, none } kind = Kind::none;
  int step = 0;      // in the plan
  std::string text;  // "" of none
};
Suspect suspect_of(const std::string& fed, const NotFinite& found);
// The foremost of all ranks', with the rank in its text.
Suspect foremost(Comm* comm, const Suspect& mine);

}  // namespace lockstep
