// SPDX-License-Identifier: Apache-2.0
// One replica's report of a step, over all parts of its share of the batch.
#pragma once

#include <vector>

#include "builders/step/one_replica.h"

namespace lockstep {

struct StepReport {
  std::vector<Value> losses, metrics;
};

// A loss is the sum over its parts, times `share`; a metric is the mean over the rows of its parts,
// in float32.
StepReport report_of(OneReplica& one, float share);

}  // namespace lockstep
