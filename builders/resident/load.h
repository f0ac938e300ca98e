// SPDX-License-Identifier: Apache-2.0
// How a batch that stays on the devices is shared out over replicas and cut into minibatches, as by
// load_data of Ray's LocalSyncParallelOptimizer. Its rows are those of sequences of equal length,
// one sequence after the other; an input of states has one row for each sequence. All functions are
// pure: every process computes the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/feeds.h"

namespace lockstep {

// In rows of one replica. What a model declares when it is built.
struct ResidentLimits {
  int64_t minibatch = 1;  // at most; less if the batch is short
  int64_t capacity = 1;   // of all minibatches together
  int64_t longest = 1;    // sequence
};

struct ResidentLoad {
  int64_t replicas = 1;
  int64_t length = 1;     // T: rows of a sequence
  int64_t minibatch = 1;  // b: rows of a minibatch on one replica
  int64_t loaded = 0;     // rows on all replicas together
  int64_t lost = 0;       // rows of the batch that fill no minibatch of every replica

  int64_t held() const { return loaded / replicas; }  // rows of one replica
  int64_t minibatches() const { return held() / minibatch; }
  // A replica's part of the batch, and of the inputs of states.
  Rows rows_of(int64_t replica) const { return {replica * held(), held()}; }
  Rows states_of(int64_t replica) const { return {replica * held() / length, held() / length}; }
};

// Without states each row is a sequence. Throws if no minibatch has a sequence for every replica,
// or if a replica cannot hold its part.
ResidentLoad resident_load(const ResidentLimits& limits, int64_t replicas, int64_t rows,
                           std::optional<int64_t> states = {});

// "120 of 130 rows: 3 minibatches of 10 rows on each of 4 replicas; 10 rows are left out"
std::string text_of(const ResidentLoad& load);

// A minibatch begins at row `index` of every replica: its rows, and its rows of states. Throws
// unless it begins with a sequence and ends within what is held.
struct ResidentSlice {
  Rows rows, states;
};
ResidentSlice resident_slice(const ResidentLoad& load, int64_t index);

// The indices of all minibatches, `epochs` times over. Each epoch has an order of its own, which
// depends on the seed and its number alone; the first one's number is `first_epoch`.
std::vector<int64_t> sweep_order(const ResidentLoad& load, int64_t epochs, uint64_t seed,
                                 int64_t first_epoch = 0);

}  // namespace lockstep
