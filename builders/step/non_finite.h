// Gradients that are not finite: where the first one is, and states that a bad step leaves alone.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace lockstep {

// Under the current replica: the place in `gradients` of the first that is not finite, or -1.
Value find_non_finite(Graph& graph, const std::vector<Value>& gradients, const std::string& name);

// `next`, or `state` where `found` (of find_non_finite) is not -1. Under the current replica.
Value unless_non_finite(Graph& graph, Value found, Value next, Value state);

}  // namespace lockstep
