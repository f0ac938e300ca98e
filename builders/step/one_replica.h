// One replica's step while it is built. Its names have no scope and its nodes no replica; what is
// done over all replicas is a collective with one operand (see graph/passes/replicate.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "builders/net/net.h"

namespace lockstep {

struct OneReplica {
  explicit OneReplica(const OpSet& ops) : graph(ops, "step") {}

  // What goes through the network at once: a replica's share of the batch, or a part of it.
  struct Part {
    std::vector<Net::Named> inputs;
    Value weight = none;        // that is fed for its loss, or none
    std::vector<Value> losses;  // as they are differentiated
    std::vector<Value> metrics;
  };

  Graph graph;
  std::vector<Net::Param> params;  // `next`: what the last part gives
  std::vector<std::string> loss_names, metric_names;
  std::vector<Part> parts;
  std::vector<Value> gradients;  // of params; none: not trained

  std::vector<Value> present_gradients() const;  // last layer first
  void for_each_value(const std::function<void(Value&)>& change);
  // Of each parameter that has a gradient; it may put another in its place.
  template <class Change>
  void for_each_gradient(const Change& change) {
    for (std::size_t p = 0; p < params.size(); ++p)
      if (gradients[p]) change(params[p], gradients[p]);
  }
};

// The network in training, its losses as it declares them.
OneReplica trace(const OpSet& ops, const ModelFn& model);

// Reverse pass. `seed` is the gradient of each loss, or none of them for 1; parameters that match
// one of `frozen` have no gradient, nor have those that no loss reaches, which `allow_untrained`
// must allow.
struct Differentiation {
  std::vector<Value> seeds = {};
  std::vector<std::string> frozen = {};
  bool allow_untrained = false;
};
void differentiate(OneReplica& one, const Differentiation& how);

// The share goes through forward and backward pass in so many parts, one after the other, and their
// gradients are added up. What does not depend on the batch is computed once. Names of later parts
// begin with micro_1/, micro_2/, ..
void repeat(OneReplica& one, int parts);

}  // namespace lockstep
