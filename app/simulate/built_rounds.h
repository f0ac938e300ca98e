// SPDX-License-Identifier: Apache-2.0
// The rounds of an all-reduce as the builder makes it: the messages of the nodes of its graph, by
// the number of messages before them. The law of rounds.h must agree.
#pragma once

#include <vector>

#include "app/simulate/engine.h"
#include "app/simulate/rounds.h"

namespace lockstep {

struct BuiltRound {
  std::vector<SimulatedMessage> messages;
  std::vector<double> added;  // bytes that each device adds
};

struct BuiltAllReduce {
  std::vector<BuiltRound> rounds;
  // As `lockstep inspect` counts: operands of collectives, and copies to other replicas.
  double operand_bytes = 0, operands = 0;
};

// The sum of a tensor of `elements` floats over all devices. `wire`: undefined, or the type of
// copies.
BuiltAllReduce built_all_reduce(const AllReduceCase& which, const Cluster& cluster,
                                int64_t elements, DType wire);

}  // namespace lockstep
