// One replica's step becomes the step of all: every node is copied under gpu_0/, gpu_1/, .., and
// the copies of a collective become one node with an operand and a result for each replica.
#pragma once

#include <string>

#include "graph/training.h"

namespace lockstep {

// Names of `one` have no scope, its nodes no replica. Node i of all replicas comes before node i +
// 1 of any; tables and bindings list all. Types are taken over, so that a step of a thousand
// replicas is written in seconds. Collectives of `one` have one operand; of a broadcast's only
// replica 0's stays, and what computes nothing else is not copied to the others. Prediction reads
// replica 0's state.
TrainingModel replicate(const TrainingModel& one, int replicas, const std::string& scope);

// A graph by itself; inputs and constants become one for each replica.
Graph replicate(const Graph& one, int replicas, const std::string& scope);

}  // namespace lockstep
