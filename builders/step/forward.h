// SPDX-License-Identifier: Apache-2.0
// The forward pass alone: the losses and metrics of a training step by weights that stay as they
// are, as Detectron's only_build_forward_pass makes them.
#pragma once

#include "builders/optimizers/optimizer.h"
#include "builders/step/data_parallel.h"
#include "builders/step/one_replica.h"

namespace lockstep {

// Throws naming an option that only has a meaning with gradients, or where norms use the batch.
void check_forward_only(const DataParallelOptions& options);

// The same options for the forward pass alone, without those that check_forward_only() refuses.
DataParallelOptions for_forward_only(DataParallelOptions options);

// Layers that prediction computes otherwise do so here, too: batch norms use the running
// statistics, which get no new values, and nothing is dropped.
void compute_as_predicting(OneReplica& one);

// Updates nothing: has no feeds and no slots.
Optimizer no_updates();

}  // namespace lockstep
