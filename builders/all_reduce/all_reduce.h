// How "sum these gradients over the replicas" becomes graph nodes.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace lockstep {

// One gradient per replica in, their sum on every replica out, named <gradient>_sum.
std::vector<Value> all_reduce_gradient(Graph& graph, const std::vector<Value>& gradients,
                                       const std::string& param);

}  // namespace lockstep
