// SPDX-License-Identifier: Apache-2.0
// The forward pass alone: the losses and metrics of a training step, without an update of the
// weights. Detectron calls this only_build_forward_pass.
#pragma once

#include "builders/step/one_replica.h"
#include "lockstep/data_parallel.h"
#include "lockstep/optimizers.h"

namespace lockstep {

// Throws if an option needs gradients or batch statistics. The error names the option.
void check_forward_only(const DataParallelOptions& options);

// Returns the options with forward_only set, and with the defaults of all options that
// check_forward_only() refuses.
DataParallelOptions for_forward_only(DataParallelOptions options);

// Makes layers compute as in prediction. Batch norms use the running statistics and do not update
// them. Dropout and regularisers written as arithmetic (builders/net/regularisers.h) drop nothing.
void compute_as_predicting(OneReplica& one);

// An optimiser that updates nothing, without feeds and slots.
Optimizer no_updates();

}  // namespace lockstep
