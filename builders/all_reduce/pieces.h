// What the all-reduce algorithms write with: pieces of one tensor that move between replicas. Every
// node lies on one replica; what another replica has comes by a Copy node. Where one replica stands
// for all (kEveryReplica) tensors are only taken apart and put together.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace lockstep {

class Pieces {
 public:
  // Nodes are called after `name`. What moves is cast to `wire` on the way, if there is one.
  Pieces(Graph& graph, std::string name, DType wire = DType::undefined)
      : graph_(graph), name_(std::move(name)), wire_(wire) {}

  // The value on that replica: itself, or a copy.
  Value bring(Value value, int from, int to);
  // Sums on a replica, in the order given; operands that are none (empty pieces) count as absent.
  Value sum(const std::vector<Value>& terms, int replica);
  // Pieces of a flat value by their lengths; none for an empty one.
  std::vector<Value> split(Value flat, const std::vector<int64_t>& lengths, int replica);
  Value join_pieces(const std::vector<Value>& pieces, int replica);

  // As a value is that has travelled: replicas that kept theirs have the same bits then.
  Value rounded(Value value, int replica);

  Graph& graph() { return graph_; }
  const std::string& name() const { return name_; }

 private:
  std::string site(const char* what, int replica) const;

  Value packed(Value value, int replica);

  Graph& graph_;
  std::string name_;
  DType wire_;
  std::unordered_map<int, Value> packed_;  // by value
};

// What is summed: a flat value of each replica. `length` is the number of elements, at least 1;
// there are at least 2 replicas.
struct Terms {
  Pieces& pieces;
  std::vector<Value> values;  // on replica replicas[i]
  std::vector<int> replicas;
  int64_t length = 0;
};

// -- which several algorithms are made of
std::vector<Value> sum_by_ring(const Terms& whole, int processes, int64_t rings,
                               const std::vector<int>& order);
std::vector<Value> sum_by_halving(const Terms& whole);
// The gatherers each sum one piece.
std::vector<Value> sum_by_shuffle(const Terms& whole, const std::vector<int>& gatherers);

// Equal pieces of `length`, as many as asked for: the length of each but the last ones, and how
// many elements are missing to make all of them equal.
struct Chunks {
  int64_t size = 0;
  int64_t pad = 0;
};
Chunks ring_chunks(int64_t length, int64_t pieces);
// Where the ranks of sub-ring `ring` sit and whom each replica hears: replica i + process * G.
struct RingOrder {
  std::vector<int> predecessor;  // by replica
  std::vector<int> rank;         // by replica
};
RingOrder ring_order(int processes, int64_t rings, int64_t ring, const std::vector<int>& order);
// Gather groups of `size` out of `devices`, dealt round robin; the last ones wrap around.
std::vector<std::vector<int>> gather_groups(int devices, int64_t size);

}  // namespace lockstep
