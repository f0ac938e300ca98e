// SPDX-License-Identifier: Apache-2.0
// Stochastic regularisers in networks from files. PyTorch's exporters write stochastic depth (row
// and batch), dropout of whole channels, in-place dropout and alpha dropout as arithmetic on random
// numbers. In prediction PyTorch's modules return their operand; the file does not say so.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lockstep/graph.h"

namespace lockstep {

// The operand that each regulariser of the graph returns in prediction, by the number of the node
// that computes the regulariser's result. Recognised forms, for a probability p of keeping and a
// mask(p) of 0 and 1, drawn from uniform numbers between 0 and 1 by Less(numbers, p) or by
// Floor(Add(numbers, p)):
//   x * (mask(p) / p)      (x / p) * mask(p)      alpha dropout's x * (mask(p) * a) +
//   shift(mask(p))
// A mask that is not divided by p is left alone: it may be part of the network's task.
std::unordered_map<int, Value> regularisers_of(const Graph& graph);

// The nodes of which only regularisers use the results: random numbers, masks, shapes. `found`: the
// regularisers.
std::unordered_set<int> only_for_regularisers(const Graph& graph,
                                              const std::unordered_map<int, Value>& found);

// Names of the nodes that draw random numbers in a prediction by this graph, without regularisers.
std::vector<std::string> drawing_nodes(const Graph& graph);

// The number of Dropouts with a ratio above 0 that drop nothing in training either, because the
// file gives them no training_mode, or a false one.
int64_t idle_dropouts(const Graph& graph);

}  // namespace lockstep
