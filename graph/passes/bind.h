// SPDX-License-Identifier: Apache-2.0
// Binds a graph to the shapes of one batch: symbols become numbers, all types are inferred again,
// and values that depend on constants and shapes alone become constants.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/passes/fold.h"
#include "graph/placement.h"

namespace lockstep {

// The nodes that `wanted` depends on, with numeric shapes. `feeds`: shapes of inputs with symbols.
// Throws naming an input whose fed shape does not match its declared one, or a symbol that gets two
// sizes on one replica. `owners`: the replica of each input's symbols.
Graph bind_shapes(const Graph& graph, const std::map<std::string, Dims>& feeds,
                  const std::vector<std::string>& wanted, const Folder& folder,
                  const Owners& owners = {});

}  // namespace lockstep
