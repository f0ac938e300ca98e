// SPDX-License-Identifier: Apache-2.0
// LARS. The ratio is computed before the momentum's rule, so all updates stay one launch.
#include <string>

#include "builders/optimizers/by_rule.h"
#include "builders/optimizers/decay.h"
#include "builders/optimizers/trust_ratio.h"
#include "lockstep/operators.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {
namespace {

Value ratio_of(Graph& graph, const Lars& lars, Value param, Value gradient, float decay) {
  const std::string name = graph.name(param);
  const Value size = norm_of(graph, param, name + "_norm");
  const Value slope = norm_of(graph, gradient, name + "_grad_norm");
  std::vector<Value> terms{slope, shared_number(graph, lars.epsilon)};
  if (decay != 0) terms.push_back(mul(graph, size, shared_number(graph, decay), name + "_wd_norm"));
  const Value wanted = mul(graph, size, shared_number(graph, lars.trust), name + "_trusted");
  const Value sum = graph.add_value({.type = "Sum", .inputs = terms}, name + "_grad_norms");
  return trust_ratio(graph, {size, slope, wanted, sum}, name);
}

// ratio * (gradient + decay * param)
Value adapted(Graph& graph, const Lars& lars, const ParamUpdate& update) {
  const std::string name = graph.name(update.param);
  const Value ratio = ratio_of(graph, lars, update.param, update.gradient, update.decay);
  if (update.decay == 0) return mul(graph, update.gradient, ratio, name + "_grad_adapted");
  const Value decay = mul(graph, ratio, shared_number(graph, update.decay), name + "_adapted_wd");
  return weighted_sum(graph, {{update.gradient, ratio}, {update.param, decay}},
                      name + "_grad_adapted");
}

}  // namespace

Lars::operator Optimizer() const {
  check_positive("LARS's trust", trust);
  check_positive("LARS's epsilon", epsilon);
  Optimizer optimizer = momentum_optimizer({momentum, false}, correct_momentum);
  optimizer.update = [lars = *this, by_momentum = optimizer.update](
                         Graph& graph, ParamUpdate update) -> UpdatedParam {
    update.gradient = update.kind == StateKind::weight
                          ? adapted(graph, lars, update)
                          : decayed_gradient(graph, update.param, update.gradient, update.decay);
    update.decay = 0;
    return by_momentum(graph, update);
  };
  optimizer.takes_decay = true;
  return optimizer;
}

}  // namespace lockstep
