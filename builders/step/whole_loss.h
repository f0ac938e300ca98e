// SPDX-License-Identifier: Apache-2.0
// The training loss over the unsplit batch: the loss that one replica would compute for the whole
// batch. Ray's LocalSyncParallelOptimizer computes this loss on the placeholders before the split.
#pragma once

#include <string>
#include <vector>

#include "builders/step/one_replica.h"

namespace lockstep {

inline constexpr const char* kWholeLoss = "whole_loss";  // the metric

// Keeps a copy of the traced network, before batch norms are synchronised and losses are scaled.
class WholeLoss {
 public:
  // Throws if the loss cannot be computed. The error names an input with rows that cannot be
  // joined, or a conflict with the metric's name.
  explicit WholeLoss(const OneReplica& one);

  // Adds the metric, after all parts exist. Joins the rows of all replicas and parts on replica 0,
  // which computes the sum of the losses with its parameters. Running statistics are not updated,
  // and random layers use separate streams. All replicas get a copy of the result.
  Value add_to(OneReplica& one, int replicas) const;

 private:
  bool is_fed(Value value) const;
  std::vector<int> needed_nodes() const;
  Value joined(OneReplica& one, Value fed, int replicas) const;

  Graph forward_;
  std::vector<Value> losses_;
  std::vector<Value> states_;  // inputs that do not change with the batch
};

// Replaces the marked collectives that join rows in the graph of all replicas. Replica 0 copies the
// rows of the others.
Graph expand_joined_rows(Graph all);

}  // namespace lockstep
