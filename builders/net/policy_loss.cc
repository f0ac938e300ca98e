// SPDX-License-Identifier: Apache-2.0
#include "lockstep/losses.h"

#include <cmath>

#include "lockstep/operators.h"

namespace lockstep {
namespace {

class PolicyHead {
 public:
  PolicyHead(Net& net, const PolicyLoss& options, const Where& where)
      : net_(net), graph_(net.graph), options_(options), where_(where) {}

  void predict(Value scores, Value values) {
    net_.output("log_probabilities", log_softmax(graph_, scores, 1, named("log_probabilities")));
    net_.output("values", reshape(graph_, values, {-1}, named("values")));
  }

  void train(Value scores, Value values) {
    const Dim rows = graph_.shape(scores)[0];
    const auto input = [&](const char* name, DType type) {
      check(!graph_.find(graph_.scoped(name)), "the step adds the input '", name,
            "', but the network has a value of that name; rename the network's value");
      return net_.input(name, {type, {rows}}, where_);
    };
    const Value action = input(kPolicyInputs.action, DType::int64);
    const Value before = input(kPolicyInputs.log_probability, DType::float32);
    const Value advantage = input(kPolicyInputs.advantage, DType::float32);
    const Value target = input(kPolicyInputs.target, DType::float32);
    const Value all = log_softmax(graph_, scores, 1, named("log_probabilities"));
    add_policy_loss(probability_of(all, action), before, advantage);
    add_value_loss(reshape(graph_, values, {-1}, named("values")), target);
    add_entropy(all);
  }

 private:
  Site named(const char* name) const { return {name, where_}; }
  Value mean(Value x, const Site& site) { return reduce_mean(graph_, x, {}, false, site); }
  Value number(const char* name, float value) {
    return graph_.constant(name, Literal::scalar(value));
  }
  Value made(const char* type, std::vector<Value> inputs, const char* name) {
    return graph_.add_value({.type = type, .inputs = std::move(inputs)}, named(name));
  }

  Value probability_of(Value all, Value action) {
    const Value column = reshape(graph_, action, {-1, 1}, named("action_column"));
    const Value taken = gather_elements(graph_, all, column, 1, named("of_action"));
    return reshape(graph_, taken, {-1}, named("log_probability_now"));
  }

  // The loss -mean of min(ratio * advantage, clip(ratio) * advantage). Beyond the clip range a row
  // has no gradient that moves its action's probability further away.
  void add_policy_loss(Value now, Value before, Value advantage) {
    const Value change = sub(graph_, now, before, named("change"));
    const Value ratio = made("Exp", {change}, "ratio");
    const Value limited =
        clip(graph_, ratio, 1 - options_.clip, 1 + options_.clip, named("limited_ratio"));
    const Value gain = mul(graph_, ratio, advantage, named("gain"));
    const Value limited_gain = mul(graph_, limited, advantage, named("limited_gain"));
    const Value least = made("Min", {gain, limited_gain}, "least_gain");
    net_.loss("policy_loss", neg(graph_, mean(least, named("mean_gain")), named("policy_loss")));

    // E[ratio - 1 - log ratio] is the divergence, and each row's term is at least 0.
    const Value excess = sub(graph_, ratio, number("policy_one", 1), named("excess"));
    net_.metric("divergence",
                mean(sub(graph_, excess, change, named("divergences")), named("divergence")));
    const Value moved = made("Abs", {excess}, "moved");
    const Value beyond = made("Greater", {moved, number("policy_clip", options_.clip)}, "beyond");
    const Value hits = cast(graph_, beyond, DType::float32, named("clipped_rows"));
    net_.metric("clipped", mean(hits, named("clipped")));
  }

  void add_value_loss(Value values, Value target) {
    const Value error = sub(graph_, values, target, named("value_error"));
    const Value squares = mul(graph_, error, error, named("squared_value_error"));
    net_.loss("value_loss", scale(graph_, mean(squares, named("mean_squared_value_error")),
                                  options_.value_weight, named("value_loss")));
  }

  void add_entropy(Value all) {
    const Value terms = mul(graph_, made("Exp", {all}, "probabilities"), all, named("surprises"));
    const Value rows = reduce_sum(graph_, terms, {1}, false, named("negative_entropies"));
    const Value negative = mean(rows, named("negative_entropy"));
    net_.loss("entropy_loss",
              scale(graph_, negative, options_.entropy_weight, named("entropy_loss")));
    net_.metric("entropy", neg(graph_, negative, named("entropy")));
  }

  Net& net_;
  Graph& graph_;
  const PolicyLoss options_;
  const Where where_;
};

void check_policy(const PolicyLoss& options) {
  check(options.clip > 0 && options.clip < 1, "a policy's clip is ", options.clip,
        ", should be between 0 and 1");
  for (const auto& [name, weight] :
       {std::pair{"value", options.value_weight}, {"entropy", options.entropy_weight}})
    check(std::isfinite(weight) && weight >= 0, "the weight of the ", name, " loss is ", weight,
          ", should be 0 or more");
}

}  // namespace

void choose_actions(Net& net, Value scores, Value values, const PolicyLoss& options,
                    const Where& where) {
  check_policy(options);
  const Shape &of_scores = net.graph.shape(scores), &of_values = net.graph.shape(values);
  check(of_scores.size() == 2 && of_values.size() == 2 && of_values[1] == Dim(1) &&
            of_scores[0] == of_values[0],
        "a policy (", where.text(), ") has scores ", of_scores, " and values ", of_values,
        ", should have [N, actions] and [N, 1]");
  PolicyHead head(net, options, where);
  net.training() ? head.train(scores, values) : head.predict(scores, values);
}

}  // namespace lockstep
