// SPDX-License-Identifier: Apache-2.0
// Replication: every node of one replica's step is copied under gpu_0/, gpu_1/, .., and the copies
// of a collective become one node with an operand and a result for each replica.
#pragma once

#include <string>

#include "graph/training.h"

namespace lockstep {

// Names of `one` have no scope, its nodes no replica. Node i of all replicas comes before node i +
// 1 of any; tables and bindings list all. Types are copied, so that a step of a thousand replicas
// is built in seconds. Collectives of `one` have one operand. A broadcast keeps only replica 0's
// operand, and nodes needed for nothing else are not copied to the others. Prediction reads replica
// 0's state.
TrainingModel replicate(const TrainingModel& one, int replicas, const std::string& scope);

// Replicates a graph by itself, including inputs and constants.
Graph replicate(const Graph& one, int replicas, const std::string& scope);

}  // namespace lockstep
