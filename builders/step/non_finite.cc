// SPDX-License-Identifier: Apache-2.0
#include "builders/step/non_finite.h"

#include "operators/optimizer/optimizer.h"

namespace lockstep {

Value find_non_finite(Graph& graph, const std::vector<Value>& gradients, const std::string& name) {
  if (gradients.empty())  // nothing is trained
    return graph.constant(name, Literal::scalar<int64_t>(-1));
  return first_non_finite(graph, gradients, name);
}

Value unless_non_finite(Graph& graph, Value found, Value next, Value state) {
  const std::string flag = graph.name(found) + "_not";
  Value sound = graph.find(flag);
  if (!sound)
    sound = graph.add_value(
        {.type = "Less",
         .inputs = {found, graph.constant(flag + "_limit", Literal::scalar<int64_t>(0))}},
        flag);
  return graph.add_value({.type = "Where", .inputs = {sound, next, state}},
                         graph.name(state) + "_next");
}

}  // namespace lockstep
