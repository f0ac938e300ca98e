// Batch normalisation over the batch of all replicas together.
#pragma once

#include "builders/step/one_replica.h"

namespace lockstep {

// Every BatchNormTrain normalises by the mean and variance of all replicas' data. Their shares of
// the batch must be equal. The reverse pass then makes the exchanges of the gradient by itself.
void synchronise_batch_norm(OneReplica& one);

}  // namespace lockstep
