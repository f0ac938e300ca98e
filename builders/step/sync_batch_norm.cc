// SPDX-License-Identifier: Apache-2.0
// With mean m_k and variance v_k of replica k's share, all of one size, over N replicas:
//   m = mean of m_k          v = mean of (v_k + (m_k - m)^2)
// Unlike E[x^2] - m^2, this loses no digits if the mean is large compared to the deviation.
#include "builders/step/sync_batch_norm.h"

#include "graph/passes/copy.h"
#include "lockstep/operators.h"
#include "operators/batch_norm/batch_norm.h"
#include "operators/collective/collective.h"

namespace lockstep {
namespace {

// Synchronises one BatchNormTrain. `operands` are the node's operands in the new graph.
class Synchronised {
 public:
  Synchronised(Graph& graph, const Node& node, std::vector<Value> operands)
      : graph_(graph), node_(node), operands_(std::move(operands)) {}

  // The new results: y, running mean and running variance.
  std::vector<Value> results() {
    const BatchNormAttrs attrs = read_batch_norm(node_);
    const Value x = operands_[0];
    const Value local = mean_of(x, true, site("_local"));
    const Value off = sub(graph_, x, local, site("_off"));
    const Value local_mean = flat(local);
    const Value square = mul(graph_, off, off, site("_local_variance_square"));
    const Value local_variance = mean_of(square, false, site("_local_variance"));
    const Value mean = mean_over_replicas(local_mean, "_mean_of_all");
    const Value shift = sub(graph_, local_mean, mean, site("_spread_shift"));
    const Value shifted = mul(graph_, shift, shift, site("_spread_square"));
    const Value spread = add(graph_, local_variance, shifted, site("_spread"));
    const Value variance = mean_over_replicas(spread, "_variance_of_all");
    return {batch_norm(graph_, {x, operands_[1], operands_[2], mean, variance}, attrs, site("")),
            running(operands_[3], mean, attrs.momentum, "_new_mean"),
            running(operands_[4], variance, attrs.momentum, "_new_variance")};
  }

 private:
  std::string site(const std::string& ending) const { return node_.name() + ending; }

  Value mean_of(Value x, bool keep, const Site& site) {
    std::vector<int64_t> axes{0};
    for (std::size_t axis = 2; axis < graph_.shape(x).size(); ++axis)
      axes.push_back(static_cast<int64_t>(axis));
    return graph_.add_value({.type = "ReduceMean",
                             .inputs = {x},
                             .attributes = {{"axes", axes}, {"keepdims", int64_t{keep ? 1 : 0}}}},
                            site);
  }

  // Reshapes [1, C, 1, ..] to [C].
  Value flat(Value x) {
    const Value shape = graph_.constant(node_.name() + "_local_mean_shape", Literal::vector({-1}));
    return graph_.add_value({.type = "Reshape", .inputs = {x, shape}}, site("_local_mean"));
  }

  Value mean_over_replicas(Value value, const char* ending) {
    const std::string name = node_.name() + ending;
    return all_reduce(graph_, {value}, Reduction::mean, {name}, name + "_reduce")[0];
  }

  Value running(Value before, Value now, float momentum, const char* ending) {
    const auto weight = [&](const char* name, float value) {
      return graph_.constant(node_.name() + ending + name, Literal::of<float>({&value, 1}, {1}));
    };
    return weighted_sum(
        graph_, {{before, weight("_kept", momentum)}, {now, weight("_taken", 1 - momentum)}},
        site(ending));
  }

  Graph& graph_;
  const Node node_;
  const std::vector<Value> operands_;
};

}  // namespace

void synchronise_batch_norm(OneReplica& one) {
  GraphCopy copy(one.graph);
  for (int index = 0; index < one.graph.node_count(); ++index) {
    const Node node = one.graph.node(index);
    if (node.type() != "BatchNormTrain") {
      copy.copy(node);
      continue;
    }
    const OriginScope origin(copy.to(), node.where());
    const std::vector<Value> results =
        Synchronised(copy.to(), node, copy.of(node.inputs())).results();
    for (std::size_t i = 0; i < results.size(); ++i) copy.set(node.outputs()[i], results[i]);
  }
  one.for_each_value([&](Value& value) { value = copy.of(value); });
  one.graph = copy.finish();
}

}  // namespace lockstep
