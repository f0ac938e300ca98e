// The reverse pass. It appends to the graph the nodes that compute d(loss)/d(value) for the values
// asked for; each operator's own rule writes its part, this pass accumulates, orders and names.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace lockstep {

struct Loss {
  Value value;   // a scalar, or any tensor whose elements are summed
  Value seed{};  // d(total)/d(value); default: ones of its shape (a scalar needs none)
};

struct Gradients {
  std::vector<Value> values;           // one per value asked for; none where no loss reaches it
  std::vector<std::string> unreached;  // their names
};

// Adds gradients of the sum of `losses` with respect to `wanted`. The gradient of x is named
// x_grad (of a wanted x: x and `suffix`); what several users of x contribute is named
// x_grad_autosplit_k and added by one Sum. Gradient nodes carry the replica and the call site of
// the node they belong to. Throws, naming the node, when a wanted value depends on a loss through
// an operator that has no gradient.
Gradients add_gradients(Graph& graph, const std::vector<Loss>& losses,
                        const std::vector<Value>& wanted, const std::string& suffix = "_grad");

}  // namespace lockstep
