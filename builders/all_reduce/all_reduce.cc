#include "builders/all_reduce.h"

#include "operators/collective/collective.h"

namespace lockstep {

std::vector<Value> all_reduce_gradient(Graph& graph, const std::vector<Value>& gradients,
                                       const std::string& param) {
  std::vector<std::string> names;
  for (Value gradient : gradients) names.push_back(graph.name(gradient) + "_sum");
  return all_reduce(graph, gradients, Reduction::sum, names, param + "_grad_all_reduce");
}

}  // namespace lockstep
