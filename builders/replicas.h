// Are all replicas the same network?
#pragma once

#include "builders/net.h"

namespace lockstep {

// A replica's nodes in the graph, [first, last), and what it declared.
struct ReplicaPart {
  int first = 0;
  int last = 0;
  const Net* net = nullptr;
};

// Throws, naming the first node, operand, constant, parameter, input, loss, metric or next value of
// `other` that differs from `first`.
void check_same_network(const Graph& graph, const ReplicaPart& first, const ReplicaPart& other,
                        int replica);

}  // namespace lockstep
