// SPDX-License-Identifier: Apache-2.0
// Losses that are means over counted things, such as the valid places of padded sequences.
#pragma once

#include "builders/step/one_replica.h"

namespace lockstep {

struct CountShares {
  int replicas = 1, parts = 1;
  bool mean = false;  // the all-reduce computes a mean, not a sum
};

// Before the backward pass: scales each loss that has a count to its part of the mean over what all
// replicas and all parts count, so that it needs no other scaling. The counts are summed by an
// all-reduce of their own. A count that depends on parameters is known only after a part's forward
// pass: then each part is divided by the count of all replicas in that part.
void share_counts(OneReplica& one, const CountShares& shares);

}  // namespace lockstep
