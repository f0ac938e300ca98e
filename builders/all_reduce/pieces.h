// SPDX-License-Identifier: Apache-2.0
// Builds all-reduce algorithms from pieces of one tensor that move between replicas. A node is on
// one replica, or is a collective of a group of replicas. A Copy node moves a value from another
// replica. With kEveryReplica, tensors are only split and joined.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lockstep/graph.h"
#include "operators/collective/collective.h"

namespace lockstep {

class Pieces {
 public:
  // Prefixes node names with `name`. Casts moved values to `wire`, unless `wire` is undefined.
  Pieces(Graph& graph, std::string name, DType wire = DType::undefined)
      : graph_(graph), name_(std::move(name)), wire_(wire) {}

  // The value on replica `to`: `value` itself if `from` is `to`, else a copy.
  Value bring(Value value, int from, int to);
  // Sums on a replica, in the given order. Skips terms that are `none` (empty pieces). `on_host`:
  // the host's CPU computes the sum even if the replica is on a GPU.
  Value sum(const std::vector<Value>& terms, int replica, bool on_host = false);
  // Adds one AllReduce node, which sums `terms` over `replicas` and gives each replica the sum. The
  // order is the order of terms or, between GPUs, NCCL's order. Terms and sum are rounded to
  // `wire`.
  std::vector<Value> sum_together(const std::vector<Value>& terms, const std::vector<int>& replicas,
                                  DType wire = DType::undefined);
  // Adds one Broadcast node, which gives each of `replicas` the first replica's value, rounded to
  // `wire()`.
  std::vector<Value> broadcast(Value value, const std::vector<int>& replicas);
  // Cuts a flat value into pieces with these lengths. An empty piece is `none`.
  std::vector<Value> split(Value flat, const std::vector<int64_t>& lengths, int replica);
  Value join_pieces(const std::vector<Value>& pieces, int replica);

  // The value rounded to `wire()`. So a replica that keeps its value has the same bits as a replica
  // that receives a copy.
  Value rounded(Value value, int replica);

  Graph& graph() { return graph_; }
  DType wire() const { return wire_; }
  const std::string& name() const { return name_; }

 private:
  // Names of nodes: "name/replica/what".
  std::string site(const char* what, int replica) const;
  std::vector<std::string> sites(const char* what, const std::vector<int>& replicas) const;

  // The value cast to `wire`. All sends of the value use one Cast node.
  Value on_wire(Value value, int replica);

  Graph& graph_;
  std::string name_;
  DType wire_;
  std::unordered_map<int, Value> packed_;  // by value
  std::unordered_set<int> rounded_;        // values already rounded
};

// The operands of a sum: a flat value of each replica. `length` is the number of elements, at least
// 1; there are at least 2 replicas.
struct Terms {
  Pieces& pieces;
  std::vector<Value> values;  // on replica replicas[i]
  std::vector<int> replicas;
  int64_t length = 0;
  bool on_host = false;  // the host's CPU sums, even for gatherers on a GPU
};

// -- sums used by several algorithms: xring.cc, rechd_bcube.cc, gather.cc
std::vector<Value> sum_by_ring(const Terms& whole, int processes, int64_t rings,
                               const std::vector<int>& order);
std::vector<Value> sum_by_halving(const Terms& whole);
// Sums one piece on each gatherer.
std::vector<Value> sum_by_shuffle(const Terms& whole, const std::vector<int>& gatherers);

// The lengths of `count` pieces: floor(length / count) each, and the rest in the last piece.
std::vector<int64_t> equal_lengths(int64_t length, int64_t count);
// The length of a piece if `length` elements are cut into `pieces` pieces. The last pieces may be
// shorter or empty.
int64_t ring_piece(int64_t length, int64_t pieces);
// The positions of replicas in sub-ring `ring` of `rings`. The sub-ring passes through one process
// after the other, and within a process through the replicas in `order`. Each sub-ring begins at
// another offset of `order`. Replicas are numbered process by process.
struct RingPlaces {
  std::vector<int> predecessor;  // by replica
  std::vector<int> rank;         // by replica
};
RingPlaces ring_places(int processes, int64_t rings, int64_t ring, const std::vector<int>& order);
// Groups of `size` gatherers out of `devices`, round-robin. The last groups wrap around.
std::vector<std::vector<int>> gather_groups(int devices, int64_t size);

}  // namespace lockstep
