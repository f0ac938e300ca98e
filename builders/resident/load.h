// SPDX-License-Identifier: Apache-2.0
// The division of a resident batch over replicas and into minibatches. All functions are pure:
// every process computes the same division.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lockstep/resident.h"

namespace lockstep {

// Without states each row is a sequence. Throws if no minibatch has a sequence for every replica,
// or if a replica cannot hold its part.
ResidentLoad resident_load(const ResidentLimits& limits, int64_t replicas, int64_t rows,
                           std::optional<int64_t> states = {});

// A minibatch begins at row `index` of every replica: its rows, and its rows of states. Throws
// unless it begins with a sequence and ends within what is held.
struct ResidentSlice {
  Rows rows, states;
};
ResidentSlice resident_slice(const ResidentLoad& load, int64_t index);

// The indices of all minibatches, once for each epoch. An epoch's order depends on the seed and the
// epoch's number alone; the first epoch's number is `first_epoch`.
std::vector<int64_t> sweep_order(const ResidentLoad& load, int64_t epochs, uint64_t seed,
                                 int64_t first_epoch = 0);

}  // namespace lockstep
