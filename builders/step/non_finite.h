// SPDX-License-Identifier: Apache-2.0
// Non-finite gradients: finds the first one, and keeps states unchanged in a bad step.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace lockstep {

// On the current replica: the index in `gradients` of the first non-finite one, or -1.
Value find_non_finite(Graph& graph, const std::vector<Value>& gradients, const std::string& name);

// `next`, or `state` if `found` (from find_non_finite) is not -1. On the current replica.
Value unless_non_finite(Graph& graph, Value found, Value next, Value state);

}  // namespace lockstep
