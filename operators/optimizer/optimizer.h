// The update operators of a training step, under the names that users of Caffe2 know.
#pragma once

#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/op.h"
#include "runtime/kernel.h"

namespace lockstep {

// y = factor * x
Value scale(Graph& graph, Value x, float factor, const Site& site = {});
// y = sum of weight_i * x_i; weights are tensors of one element.
Value weighted_sum(Graph& graph, const std::vector<std::pair<Value, Value>>& terms,
                   const Site& site = {});

struct MomentumAttrs {
  float momentum = 0;
  bool nesterov = false;
};
struct MomentumOperands {
  Value gradient, momentum, rate, param;
  Value correction{};  // one element: the old momentum is multiplied by it, when the rate jumps
  // int64, one element: where it is not negative the parameter stays, and the momentum is only
  // corrected, for the rate has jumped all the same.
  Value unless{};
};
struct MomentumUpdate {
  Value step;  // what was subtracted
  Value momentum;
  Value param;
};
// v' = mu * v + lr * g; step = v' (Nesterov: (1 + mu) * v' - mu * v); param' = param - step.
// `names` are those of the three outputs.
MomentumUpdate momentum_sgd(Graph& graph, const MomentumOperands& operands,
                            const MomentumAttrs& attrs, const std::vector<std::string>& names,
                            const Site& site = {});
// The number of the first tensor that holds a value that is not finite; -1 when there is none.
Value first_non_finite(Graph& graph, const std::vector<Value>& tensors, const Site& site = {});

// All updates of a replica, weight decay and factors of their gradients included, become one node.
Rewritten fuse_updates(const Graph& graph, const std::set<std::string>& known);
// What that node is told. Of n parameters it takes n momenta, n parameters, n gradients, the rate,
// the correction and `unless`, and makes n momenta and n parameters.
struct UpdatesAttrs {
  MomentumAttrs momentum;
  std::vector<float> factors, decays;  // of each: its gradient is factor * g + decay * param
  std::size_t count() const { return factors.size(); }
};
UpdatesAttrs read_updates(AttributeReader attributes);

std::vector<Op> optimizer_ops();
std::vector<KernelEntry> optimizer_cpu();
std::vector<KernelEntry> optimizer_cuda();

}  // namespace lockstep
