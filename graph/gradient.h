// SPDX-License-Identifier: Apache-2.0
// The backward pass. It appends nodes that compute d(loss)/d(value) for the requested values: each
// operator's gradient rule adds its nodes; this pass accumulates, orders and names.
#pragma once

#include <string>
#include <vector>

#include "lockstep/graph.h"

namespace lockstep {

struct Loss {
  Value value;   // a scalar; with a seed, any tensor
  Value seed{};  // d(total)/d(value); 1 by default
};

struct Gradients {
  std::vector<Value> values;           // one per requested value; none if no loss reaches it
  std::vector<std::string> unreached;  // names of the requested values without a gradient
};

// Adds gradients of the sum of `losses` with respect to `wanted`. The gradient of x is named
// x_grad; of a wanted x, x followed by `suffix`. Contributions of several users of x are named
// x_grad_autosplit_k and added by one Sum. Gradient nodes carry the replica and the call site of
// their forward node. Throws, naming the node, if a wanted value reaches a loss through an operator
// without a gradient.
Gradients add_gradients(Graph& graph, const std::vector<Loss>& losses,
                        const std::vector<Value>& wanted, const std::string& suffix = "_grad");

}  // namespace lockstep
