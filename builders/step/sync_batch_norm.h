// SPDX-License-Identifier: Apache-2.0
// Synchronised batch normalisation: over the batch of all replicas.
#pragma once

#include "builders/step/one_replica.h"

namespace lockstep {

// Makes every BatchNormTrain normalise by the mean and variance of all replicas' data. Their shares
// of the batch must be equal. The backward pass derives the exchanges of gradients.
void synchronise_batch_norm(OneReplica& one);

}  // namespace lockstep
