// SPDX-License-Identifier: Apache-2.0
// The bucket of a step's plan that each node reduces.
#pragma once

#include <string>
#include <vector>

#include "graph/phases.h"
#include "lockstep/training_model.h"

namespace lockstep {

struct NodeBuckets {
  std::vector<std::string> names;  // "2 of 161, 8192000 bytes"
  std::vector<int> of_node;        // by node of the main graph; -1 without a bucket
};

// The nodes that make a bucket's gradients ready, reduce them, and read the results.
NodeBuckets buckets_of_nodes(const TrainingModel& model, const std::vector<Phase>& phases);

}  // namespace lockstep
