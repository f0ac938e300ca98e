// SPDX-License-Identifier: Apache-2.0
// The phases of a training step, by the structure of its graph, not by names.
#pragma once

#include <string_view>
#include <vector>

#include "lockstep/training_model.h"

namespace lockstep {

// forward:  losses, metrics and outputs depend on the node
// backward: the gradients depend on it
// reduce:   moves or sums values of several replicas: collectives and copies between replicas, the
//           steps of an all-reduce between them, and the packing and unpacking of buckets
// update:   all other nodes, which make the new states: clipping, decay, optimisers, running
//           statistics
enum class Phase { forward, backward, reduce, update };
inline constexpr std::size_t kPhases = 4;
std::string_view name_of(Phase phase);

// The phase of each node of the model's step, by its index; of its inference graph if it has no
// step: all forward.
std::vector<Phase> phases_of(const TrainingModel& model);

// The graph that phases_of() and all prints of a model are about: the step, or else inference.
const Graph& main_graph(const TrainingModel& model);

}  // namespace lockstep
