// SPDX-License-Identifier: Apache-2.0
// Binds a graph to the shapes of one batch: symbols become numbers, all types are inferred again,
// and values that depend only on constants and shapes become constants.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/passes/fold.h"
#include "graph/placement.h"

namespace lockstep {

// Returns the nodes that `wanted` depends on, with numeric shapes. `feeds`: shapes of inputs with
// symbols. `owners`: the replica of each input's symbols. Throws, naming the input, if a fed shape
// does not match the declared shape, or if a symbol gets two sizes on one replica.
Graph bind_shapes(const Graph& graph, const std::map<std::string, Dims>& feeds,
                  const std::vector<std::string>& wanted, const Folder& folder,
                  const Owners& owners = {});

}  // namespace lockstep
