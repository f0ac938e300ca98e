// SPDX-License-Identifier: Apache-2.0
// Assigns nodes to workers. A replica's worker computes; other workers run communication, so that
// replicas keep computing.
#pragma once

#include <vector>

#include "lockstep/graph.h"
#include "runtime/plan/plan.h"

namespace lockstep {

// On GPUs, each device has a second queue for its collectives. On CPUs, one extra worker exchanges
// messages with other processes, and replicas sum among themselves.
bool communication_has_queues(const std::vector<Device>& devices);

class WorkersOfNodes {
 public:
  WorkersOfNodes(const Graph& bound, const std::vector<Device>& devices);

  std::vector<Worker> all() const { return workers_; }
  // Returns the worker of a node, or of its part of a collective, on `replica`.
  int of(const Node& node, int replica) const;

 private:
  std::vector<Worker> workers_;
  std::vector<bool> communicates_;  // by node
  std::vector<int> communicator_;   // by replica
  int exchanger_ = 0;               // a single worker, since messages to other processes must keep
                                    // one order
};

}  // namespace lockstep
