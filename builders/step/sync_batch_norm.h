// SPDX-License-Identifier: Apache-2.0
// Synchronised batch normalisation over the batches of all replicas.
#pragma once

#include "builders/step/one_replica.h"

namespace lockstep {

// Makes every BatchNormTrain normalise by the mean and variance of all replicas' data. The
// replicas' shares of the batch must be equal. Differentiation adds the matching exchanges of
// gradients.
void synchronise_batch_norm(OneReplica& one);

}  // namespace lockstep
