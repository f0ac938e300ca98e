// SPDX-License-Identifier: Apache-2.0
#include "builders/optimizers/decay.h"

#include <string>

#include "lockstep/operators.h"

namespace lockstep {

Value decayed_gradient(Graph& graph, Value param, Value gradient, float decay) {
  if (decay == 0) return gradient;
  const std::string name = graph.name(param);
  auto weight = [&](const char* what, float value) {
    return graph.constant(name + what, Literal::of<float>({&value, 1}, {1}));
  };
  return weighted_sum(graph, {{gradient, weight("_one", 1)}, {param, weight("_wd", decay)}},
                      name + "_grad_decayed");
}

}  // namespace lockstep
