// SPDX-License-Identifier: Apache-2.0
// Replication: every node of one replica's step is copied under gpu_0/, gpu_1/, .. The copies of a
// collective become one node with an operand and a result for each replica.
#pragma once

#include <string>

#include "lockstep/training_model.h"

namespace lockstep {

// Names of `one` have no scope, its nodes no replica, and its collectives one operand. Node i of
// all replicas comes before node i + 1 of any. Tables and bindings list all replicas. Types are
// copied, so that a step of a thousand replicas is built in seconds. A broadcast keeps only replica
// 0's operand; nodes that only broadcasts need are not copied to other replicas. Prediction reads
// replica 0's state.
TrainingModel replicate(const TrainingModel& one, int replicas, const std::string& scope);

// Replicates a graph, including inputs and constants.
Graph replicate(const Graph& one, int replicas, const std::string& scope);

}  // namespace lockstep
