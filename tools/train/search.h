// A loss that is not finite, and where that began. All processes of a run ask alike, after the same
// step, and all get the same answer.
#pragma once

#include <optional>
#include <string>

#include "runtime/comm.h"
#include "runtime/executor.h"

namespace lockstep {

// That of the first rank which has one. `loss` is this process's.
struct BadLoss {
  int rank = 0;
  float loss = 0;
};
std::optional<BadLoss> first_bad_loss(Comm* comm, float loss);

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
