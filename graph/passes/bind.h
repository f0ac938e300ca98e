// Gives a graph the shapes of one batch: symbols become numbers, every type is inferred again, and
// what follows from constants and shapes alone becomes constant.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/passes/fold.h"
#include "graph/placement.h"

namespace lockstep {

// A graph of the nodes that `wanted` depends on, all shapes numbers. `feeds` gives the shape of
// inputs that have symbols; throws naming an input whose fed shape does not fit its declared one,
// or a symbol that gets two sizes on one replica. `owners` say whose symbols an input's are.
Graph bind_shapes(const Graph& graph, const std::map<std::string, Dims>& feeds,
                  const std::vector<std::string>& wanted, const Folder& folder,
                  const Owners& owners = {});

}  // namespace lockstep
