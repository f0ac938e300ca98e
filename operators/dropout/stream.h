// Where in Philox's numbers a node's draws of one step lie. For the files of this room.
#pragma once

#include <cstdint>

namespace lockstep {

// The stream of Philox for a node's draws in a step, beyond those of parameters and data.
constexpr uint64_t dropout_numbers(uint64_t step, uint64_t stream) {
  constexpr uint64_t kStreams = uint64_t{1} << 63U;
  constexpr uint64_t kStepMask = 0x7fffffffU;
  return kStreams | (step & kStepMask) << 32U | stream;
}

}  // namespace lockstep
