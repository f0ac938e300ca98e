// SPDX-License-Identifier: Apache-2.0
// Stable text of graphs and models, for golden files and `lockstep inspect`.
#pragma once

#include <string>

#include "graph/training.h"

namespace lockstep {

struct PrintOptions {
  bool where = false;  // adds file:line of the builder call behind each node
};

// One line per input, constant and node, in graph order, with types.
std::string text_of(const Graph& graph, const PrintOptions& options = {});
// All three graphs, states, bindings.
std::string text_of(const TrainingModel& model, const PrintOptions& options = {});
// What a node computes, not to be read but compared: its operator and attributes, byte for byte.
std::string bytes_of(const Node& node);
// Nodes of the step in the graph's order: number, replica, operator, results.
std::string order_of(const TrainingModel& model);
// Every name of the step once, a line each: of its inputs and state, then, in the graph's order, of
// each node and its results. For comparing with another framework's list.
std::string names_of(const TrainingModel& model);
// One page: counts, parameters with sizes, inputs, losses, operators by type.
std::string summary_of(const TrainingModel& model);
// The step graph for Graphviz, one cluster per replica.
std::string dot_of(const Graph& graph);

}  // namespace lockstep
