// SPDX-License-Identifier: Apache-2.0
#include "builders/resident/load.h"

#include <algorithm>

#include "lockstep/error.h"
#include "lockstep/random.h"

namespace lockstep {
namespace {

constexpr uint64_t kSweepStream = uint64_t{3} << 40;  // differs from random streams of data sources

}  // namespace

ResidentLoad resident_load(const ResidentLimits& limits, int64_t replicas, int64_t rows,
                           std::optional<int64_t> states) {
  check(limits.minibatch >= 1 && limits.capacity >= 1 && limits.longest >= 1 && replicas >= 1,
        "a resident batch of at most ", limits.capacity, " rows, ", limits.minibatch,
        " in a minibatch and ", limits.longest, " in a sequence, on ", replicas,
        " replicas: each should be at least 1");
  check(rows >= 1, "a batch of ", rows, " rows cannot be loaded");
  check(!states || (*states >= 1 && *states <= rows), "the batch has ", rows, " rows and ",
        states.value_or(0), " rows of states, should have one for each sequence of rows");
  const int64_t sequences = states.value_or(rows);
  const int64_t length = rows / sequences;
  check(length <= limits.longest, "the batch has sequences of ", length,
        " rows, but the model is built for at most ", limits.longest);
  // The number of sequences in a minibatch of all replicas. If a sequence is longer than a
  // replica's minibatch, the minibatch is 1 sequence.
  const int64_t wanted = std::max(limits.minibatch / length * replicas, int64_t{1});
  const int64_t together = sequences < wanted ? sequences / replicas * replicas : wanted;
  check(together >= replicas, "a minibatch of ", together, " sequences does not suffice for ",
        replicas, " replicas: the batch has ", sequences, " sequences of ", length,
        " rows, a replica's minibatch at most ", limits.minibatch, " rows");
  ResidentLoad load{.replicas = replicas,
                    .length = length,
                    .minibatch = together / replicas * length,
                    .loaded = sequences / together * together * length};
  load.lost = rows - load.loaded;
  check(load.held() <= limits.capacity, "each of ", replicas, " replicas would hold ", load.held(),
        " rows of the batch of ", rows, ", but the model is built for at most ", limits.capacity);
  return load;
}

std::string text_of(const ResidentLoad& load) {
  return join(load.loaded, " of ", load.loaded + load.lost, " rows: ", load.minibatches(),
              " minibatches of ", load.minibatch, " rows on each of ", load.replicas, " replicas",
              load.lost > 0 ? join("; ", load.lost, " rows are left out") : "");
}

ResidentSlice resident_slice(const ResidentLoad& load, int64_t index) {
  check(index >= 0 && index <= load.held() - load.minibatch, "the minibatch at row ", index,
        " of each replica, of ", load.minibatch, " rows, is not within the ", load.held(),
        " rows that are loaded");
  check(index % load.length == 0, "the minibatch at row ", index,
        " of each replica begins inside a sequence; sequences have ", load.length, " rows");
  return {{index, load.minibatch}, {index / load.length, load.minibatch / load.length}};
}

std::vector<int64_t> sweep_order(const ResidentLoad& load, int64_t epochs, uint64_t seed,
                                 int64_t first_epoch) {
  check(epochs >= 0 && first_epoch >= 0, "a sweep of ", epochs, " epochs from number ", first_epoch,
        " on: both numbers should be 0 or more");
  std::vector<int64_t> order;
  for (int64_t epoch = first_epoch; epoch < first_epoch + epochs; ++epoch) {
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < load.minibatches(); ++i) indices.push_back(i * load.minibatch);
    shuffle(indices, seed, kSweepStream + static_cast<uint64_t>(epoch));
    order.insert(order.end(), indices.begin(), indices.end());
  }
  return order;
}

}  // namespace lockstep
