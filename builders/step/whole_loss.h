// SPDX-License-Identifier: Apache-2.0
// The training loss over the unsplit batch: the loss that one replica would have with the whole
// batch, as Ray's LocalSyncParallelOptimizer computes it on the placeholders before they are split.
#pragma once

#include <string>
#include <vector>

#include "builders/step/one_replica.h"

namespace lockstep {

inline constexpr const char* kWholeLoss = "whole_loss";  // the metric

// Keeps the network as traced: later its batch norms may be synchronised, its losses are scaled.
class WholeLoss {
 public:
  // Throws if there is no such loss, naming an input whose rows cannot be joined, or what has the
  // metric's name.
  explicit WholeLoss(const OneReplica& one);

  // Adds the metric once all parts stand: the rows of all replicas and parts are joined on replica
  // 0, which computes the sum of the losses with its parameters. Running statistics stay, and
  // random layers draw their own streams. All replicas get a copy of the result.
  Value add_to(OneReplica& one, int replicas) const;

 private:
  bool is_fed(Value value) const;
  std::vector<int> needed_nodes() const;
  Value joined(OneReplica& one, Value fed, int replicas) const;

  Graph forward_;
  std::vector<Value> losses_;
  std::vector<Value> states_;  // inputs that no batch decides
};

// Replaces the marked collectives that join rows, once replicas stand: replica 0 copies the rows of
// the others.
Graph expand_joined_rows(Graph all);

}  // namespace lockstep
