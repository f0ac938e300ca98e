// SPDX-License-Identifier: Apache-2.0
// With p the probabilities, y the label, z the second label and w its weight, the cross entropy of
// the mixed label is CE(y) + w (CE(z) - CE(y)). Smoothing by e turns a cross entropy C into
// (1 - e) C + e U, where U is the cross entropy of the even distribution, -mean(log p).
#include "builders/net/soft_labels.h"

#include <utility>

#include "lockstep/operators.h"

namespace lockstep {
namespace {

class SoftLoss {
 public:
  SoftLoss(Net& net, const SoftLabels& soft, const Node& certain)
      : net_(net),
        graph_(net.graph),
        soft_(soft),
        labels_(certain.inputs()[1]),
        loss_(certain.outputs()[0]),
        log_(certain.outputs()[1]) {}

  void add() {
    Value extra = none;
    if (soft_.mixed) extra = scale(graph_, mixture(), 1 - soft_.smoothing, "mixed_loss");
    if (soft_.smoothing > 0) {
      const Value spread = scale(graph_, evenness(), soft_.smoothing, "smoothing_loss");
      extra = extra ? lockstep::add(graph_, extra, spread, "soft_loss") : spread;
    }
    net_.loss(kSoftLabels, extra);
  }

 private:
  // U - CE(y)
  Value evenness() {
    const Value mean = reduce_mean(graph_, log_, {}, false, "mean_log_probability");
    const Value even = neg(graph_, mean, "even_loss");
    return sub(graph_, even, loss_, "even_excess");
  }

  // mean(w (CE(z) - CE(y)))
  Value mixture() {
    const Dim rows = graph_.shape(labels_)[0];
    const auto input = [&](const char* name, DType type) {
      check(!graph_.find(graph_.scoped(name)), "the step adds the input '", name,
            "' for mixed labels, but the network has a value of that name; rename the network's "
            "value");
      return net_.input(name, {type, {rows}});
    };
    const Value second = input(kSecondLabel, DType::int64);
    const Value share = input(kSecondShare, DType::float32);
    const Value excess = sub(graph_, of_each(second, "second_losses"),
                             of_each(labels_, "first_losses"), "second_excess");
    const Value weighted = mul(graph_, share, excess, "weighted_excess");
    return reduce_mean(graph_, weighted, {}, false, "mean_excess");
  }

  Value of_each(Value labels, const char* name) {
    return graph_.add_value({.type = "NegativeLogLikelihoodLoss",
                             .inputs = {log_, labels},
                             .attributes = {{"reduction", std::string("none")}}},
                            name);
  }

  Net& net_;
  Graph& graph_;
  const SoftLabels soft_;
  const Value labels_, loss_, log_;
};

}  // namespace

ModelFn with_soft_labels(ModelFn model, const SoftLabels& soft) {
  check(soft.smoothing >= 0 && soft.smoothing < 1, "label smoothing is ", soft.smoothing,
        ", should be from 0 to less than 1");
  if (!soft.active()) return model;
  return [model = std::move(model), soft](Net& net) {
    model(net);
    if (!net.training()) return;
    const auto certain =
        net.losses().size() == 1 ? net.graph.producer(net.losses()[0].value) : std::nullopt;
    check(certain && certain->type() == "SoftmaxCrossEntropyLoss" && certain->outputs().size() == 2,
          "soft labels need a network whose only loss is a cross entropy");
    SoftLoss(net, soft, *certain).add();
  };
}

}  // namespace lockstep
