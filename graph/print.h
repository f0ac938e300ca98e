// SPDX-License-Identifier: Apache-2.0
// Texts of graphs and models, for golden files and `lockstep inspect`. text_of() of both is public.
#pragma once

#include <string>

#include "lockstep/training_model.h"

namespace lockstep {

// A node's operator and attributes byte for byte, for comparison of nodes.
std::string bytes_of(const Node& node);
// Nodes of the step in the graph's order: number, replica, operator, results.
std::string order_of(const TrainingModel& model);
// Every name of the step once, a line each: of its inputs and state, then, in the graph's order, of
// each node and its results. For comparing with another framework's list.
std::string names_of(const TrainingModel& model);

}  // namespace lockstep
