// Batch normalisation over the batch of all replicas together.
#pragma once

#include <functional>
#include <vector>

#include "builders/replicas.h"
#include "graph/graph.h"

namespace lockstep {

// A graph in which every BatchNormTrain of `parts` (the same network on each replica) normalises by
// the mean and variance of all replicas' data; replicas stand side by side in it. Their shares of
// the batch must be equal. The reverse pass then makes the exchanges of the gradient by itself.
struct Synchronised {
  Graph graph;
  std::vector<Value> moved;  // by value of the old graph
};
Synchronised synchronise_batch_norm(const Graph& graph, const std::vector<ReplicaPart>& parts);

}  // namespace lockstep
