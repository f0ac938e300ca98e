// Which numbers a Dropout draws. For the files of this room.
#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace lockstep {

// Of a Dropout or a DropoutGrad.
int64_t dropout_stream(const Node& node);

// The stream of Philox for a node's draws in a step, beyond those of parameters and data.
constexpr uint64_t dropout_numbers(uint64_t step, uint64_t stream) {
  constexpr uint64_t kStreams = uint64_t{1} << 63U;
  constexpr uint64_t kStepMask = 0x7fffffffU;
  return kStreams | (step & kStepMask) << 32U | stream;
}

}  // namespace lockstep
