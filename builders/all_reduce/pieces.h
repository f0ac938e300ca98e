// SPDX-License-Identifier: Apache-2.0
// Building blocks of the all-reduce algorithms: pieces of one tensor that move between replicas.
// Nodes lie on one replica, where values of another one arrive by a Copy node, or are a collective
// of a group of replicas. With one replica for all (kEveryReplica) tensors are only split and
// joined.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/graph.h"

namespace lockstep {

class Pieces {
 public:
  // Prefixes node names with `name`. Moved values are cast to `wire`, if there is one.
  Pieces(Graph& graph, std::string name, DType wire = DType::undefined)
      : graph_(graph), name_(std::move(name)), wire_(wire) {}

  // The value on that replica: itself, or a copy.
  Value bring(Value value, int from, int to);
  // Sums on a replica, in the given order; operands that are `none` (empty pieces) are skipped.
  // `on_host`: a replica on a GPU leaves the sum to the host's CPU.
  Value sum(const std::vector<Value>& terms, int replica, bool on_host = false);
  // One AllReduce node: the sum of terms on those replicas, on each of them, in the order of terms
  // or, between GPUs, in NCCL's. Terms are rounded to `wire`, and so is the sum.
  std::vector<Value> sum_together(const std::vector<Value>& terms, const std::vector<int>& replicas,
                                  DType wire = DType::undefined);
  // One Broadcast node: the first replica's value on each of them, rounded as if it had been sent.
  std::vector<Value> broadcast(Value value, const std::vector<int>& replicas);
  // The pieces of a flat value, by length; none for an empty one.
  std::vector<Value> split(Value flat, const std::vector<int64_t>& lengths, int replica);
  Value join_pieces(const std::vector<Value>& pieces, int replica);

  // The value rounded as if it had been sent, so that replicas that kept theirs have the same bits.
  Value rounded(Value value, int replica);

  Graph& graph() { return graph_; }
  DType wire() const { return wire_; }
  const std::string& name() const { return name_; }

 private:
  // Names of nodes: "name/replica/what".
  std::string site(const char* what, int replica) const;
  std::vector<std::string> sites(const char* what, const std::vector<int>& replicas) const;

  // The value cast to `wire`, by one node however often it is sent.
  Value packed(Value value, int replica);

  Graph& graph_;
  std::string name_;
  DType wire_;
  std::unordered_map<int, Value> packed_;  // by value
  std::unordered_set<int> rounded_;        // values that are rounded already
};

// The operands of a sum: a flat value of each replica. `length` is the number of elements, at least
// 1; there are at least 2 replicas.
struct Terms {
  Pieces& pieces;
  std::vector<Value> values;  // on replica replicas[i]
  std::vector<int> replicas;
  int64_t length = 0;
  bool on_host = false;  // gatherers on a GPU leave their sums to the host's CPU
};

// -- sums that several algorithms use: xring.cc, rechd_bcube.cc, gather.cc
std::vector<Value> sum_by_ring(const Terms& whole, int processes, int64_t rings,
                               const std::vector<int>& order);
std::vector<Value> sum_by_halving(const Terms& whole);
// Each gatherer sums one piece.
std::vector<Value> sum_by_shuffle(const Terms& whole, const std::vector<int>& gatherers);

// The lengths of `count` pieces: floor(length / count) each; the last piece takes the rest.
std::vector<int64_t> equal_lengths(int64_t length, int64_t count);
// The length of each piece of `length` elements in `pieces` pieces, except the last ones, which are
// shorter or empty.
int64_t ring_piece(int64_t length, int64_t pieces);
// The places of replicas in sub-ring `ring` of `rings`. It passes through one process after the
// other, in each through the replicas in `order`; every sub-ring begins at another place of that
// order. Replicas are numbered process by process.
struct RingPlaces {
  std::vector<int> predecessor;  // by replica
  std::vector<int> rank;         // by replica
};
RingPlaces ring_places(int processes, int64_t rings, int64_t ring, const std::vector<int>& order);
// Gather groups of `size` out of `devices`, round robin; the last ones wrap around.
std::vector<std::vector<int>> gather_groups(int devices, int64_t size);

}  // namespace lockstep
