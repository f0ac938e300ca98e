// SPDX-License-Identifier: Apache-2.0
// Scales losses that are means over a count, such as the number of valid elements in padded
// sequences.
#pragma once

#include "builders/step/one_replica.h"

namespace lockstep {

struct CountShares {
  int replicas = 1, parts = 1;
  bool mean = false;  // the all-reduce computes a mean, not a sum
};

// Scales each loss that has a count to its part of the mean over the counts of all replicas and
// parts. Called before the backward pass. These losses need no other scaling. A separate all-reduce
// sums the counts. A count that depends on parameters is known only after a part's forward pass, so
// each part is divided by the count of all replicas in this part.
void share_counts(OneReplica& one, const CountShares& shares);

}  // namespace lockstep
