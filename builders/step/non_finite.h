// SPDX-License-Identifier: Apache-2.0
// Finds the first non-finite gradient, and keeps states unchanged in a step with non-finite
// gradients.
#pragma once

#include <string>
#include <vector>

#include "lockstep/graph.h"

namespace lockstep {

// The index in `gradients` of the first non-finite gradient, or -1. Computed on the current
// replica.
Value find_non_finite(Graph& graph, const std::vector<Value>& gradients, const std::string& name);

// `next` if `found` (from find_non_finite) is -1, else `state`. Computed on the current replica.
Value unless_non_finite(Graph& graph, Value found, Value next, Value state);

}  // namespace lockstep
