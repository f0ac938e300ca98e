// SPDX-License-Identifier: Apache-2.0
// Rings. A tensor is cut into N * S pieces: segment g of sub-ring s is piece g * S + s. In tick t
// of N - 1, the replica of rank r adds its own piece of segment r - 2 - t to its predecessor's
// piece. Rank r then holds the sum of segment r, and N - 1 more ticks distribute the sums. Segment
// g is summed in the order of ranks g + 1, g + 2, .., g: an order that differs between segments,
// but not between runs.
#include <algorithm>

#include "builders/all_reduce/algorithm.h"

namespace lockstep {
namespace {

int64_t modulo(int64_t a, int64_t n) { return ((a % n) + n) % n; }

}  // namespace

int64_t ring_piece(int64_t length, int64_t pieces) {
  return std::max<int64_t>((length + pieces - 1) / pieces, 1);
}

RingPlaces ring_places(int processes, int64_t rings, int64_t ring, const std::vector<int>& order) {
  const auto per_process = static_cast<int64_t>(order.size());
  RingPlaces result;
  if (per_process == 0) return result;
  const int64_t shift = ring * std::max<int64_t>(1, per_process / rings);
  std::vector<int> sequence;  // replicas in rank order
  for (int process = 0; process < processes; ++process)
    for (int64_t i = 0; i < per_process; ++i)
      sequence.push_back(order[modulo(i + shift, per_process)] +
                         process * static_cast<int>(per_process));
  result.predecessor.resize(sequence.size());
  result.rank.resize(sequence.size());
  for (std::size_t r = 0; r < sequence.size(); ++r) {
    const int replica = sequence[r];
    result.rank[replica] = static_cast<int>(r);
    result.predecessor[replica] = sequence[(r + sequence.size() - 1) % sequence.size()];
  }
  return result;
}

std::vector<Value> sum_by_ring(const Terms& whole, int processes, int64_t rings,
                               const std::vector<int>& order) {
  const auto n = static_cast<int64_t>(whole.values.size());
  const int64_t count = n * rings, size = ring_piece(whole.length, count);
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < count; ++i)
    lengths.push_back(std::clamp<int64_t>(whole.length - i * size, 0, size));

  Pieces& pieces = whole.pieces;
  std::vector<std::vector<Value>> held;  // [replica][piece]
  for (std::size_t k = 0; k < whole.values.size(); ++k)
    held.push_back(pieces.split(whole.values[k], lengths, whole.replicas[k]));
  for (int64_t ring = 0; ring < rings; ++ring) {
    const RingPlaces places = ring_places(processes, rings, ring, order);
    // One tick: every replica reads its predecessor's value of the previous tick.
    auto tick = [&](auto segment_of, auto combine) {
      const auto before = held;
      for (int64_t me = 0; me < n; ++me) {
        const int from = places.predecessor[me];
        const int64_t segment = modulo(segment_of(places.rank[me]), n);
        const int64_t at = segment * rings + ring;
        if (!before[me][at]) continue;  // an empty piece
        Value theirs = pieces.bring(before[from][at], whole.replicas[from], whole.replicas[me]);
        held[me][at] = combine(theirs, before[me][at], whole.replicas[me]);
      }
    };
    for (int64_t t = 0; t < n - 1; ++t)
      tick([&](int64_t rank) { return rank - 2 - t; },
           [&](Value theirs, Value mine, int replica) {
             return pieces.sum({theirs, mine}, replica);
           });
    for (int64_t t = 0; t < n - 1; ++t)
      tick([&](int64_t rank) { return rank - 1 - t; },
           [](Value theirs, Value, int) { return theirs; });
  }
  std::vector<Value> sums;
  for (std::size_t k = 0; k < held.size(); ++k)
    sums.push_back(pieces.join_pieces(held[k], whole.replicas[k]));
  return sums;
}

AllReduceAlgorithm xring() {
  return {
      .name = "xring",
      .what = "S rings",
      .build =
          [](const Terms& whole, const AlgorithmUse& use) {
            return sum_by_ring(whole, use.processes, use.shards, use.ring_order);
          },
      .seconds = [](const Costs& costs) { return costs.ring(costs.any(), costs.replicas()); },
      .most_shards = [](int replicas, int processes) -> int64_t { return replicas / processes; },
      .auto_shards = [](int, int) -> int64_t { return 1; }};
}

}  // namespace lockstep
