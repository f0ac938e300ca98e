// SPDX-License-Identifier: Apache-2.0
// One replica's step under construction. Its names have no scope and its nodes no replica; work
// over all replicas is a collective with one operand (see graph/passes/replicate.h).
#pragma once

#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "builders/net/net.h"

namespace lockstep {

struct OneReplica {
  explicit OneReplica(const OpSet& ops) : graph(ops, "step") {}

  // The unit of one pass through the network: a replica's share of the batch, or a part of it.
  struct Part {
    std::vector<Net::Named> inputs;
    Value weight = none;        // fed weight of its loss, or none
    std::vector<Value> losses;  // as differentiated
    std::vector<Value> metrics;
    std::vector<Value> outputs;  // of the forward pass alone
  };

  Graph graph;
  std::vector<Net::Param> params;  // `next`: the last part's value
  std::vector<std::string> loss_names, metric_names, output_names;
  std::vector<Part> parts;
  std::vector<Value> counts;  // of parts[0].losses; none: the loss is a mean over the rows
  // By part after the first: its values that exist before repeat(), by the first part's value.
  std::vector<std::unordered_map<int, Value>> early;
  std::set<int> early_nodes;      // that made them
  std::vector<Value> gradients;   // of params; none: not trained
  std::vector<std::string> held;  // states that hold a batch (hold.h)

  std::vector<Value> present_gradients() const;  // last layer first
  void for_each_value(const std::function<void(Value&)>& change);
  std::set<int> listed();  // the numbers of all values that it names
  // Calls `change` for each gradient that exists; it may return a replacement.
  template <class Change>
  void for_each_gradient(const Change& change) {
    for (std::size_t p = 0; p < params.size(); ++p)
      if (gradients[p]) change(params[p], gradients[p]);
  }
};

// Throws if the network has a value of this name, which the step wants for its input.
void check_free(const Graph& graph, const std::string& name, const std::string& what);
// An input that the step adds to those of the network. `what` it is, for the error if a value of
// the network has its name.
Value step_input(Graph& graph, const std::string& name, const TensorType& type,
                 const std::string& what, const std::string& origin = "");

// The network in training, with its losses as declared. For the forward pass alone it may have no
// loss, and what it declares as outputs in training counts.
OneReplica trace(const OpSet& ops, const ModelFn& model, bool forward_only = false);

// Backward pass. `seed` is the gradient of each loss, or empty for 1. Parameters that match
// `frozen` get no gradient, nor do those that no loss reaches, which `allow_untrained` must allow;
// with `forward_only` none gets one.
struct Differentiation {
  std::vector<Value> seeds = {};
  std::vector<std::string> frozen = {};
  bool allow_untrained = false;
  bool forward_only = false;
};
void differentiate(OneReplica& one, const Differentiation& how);

// Splits the share into so many parts that go through forward and backward pass in sequence; their
// gradients are added up. Values that do not depend on the batch are computed once. Names of later
// parts begin with micro_1/, micro_2/, ..
void repeat(OneReplica& one, int parts);
// A later part's value for one of the first part, before repeat(), which will know it. It should
// depend on inputs alone: everything that it needs is computed ahead of the first part.
Value value_in_part(OneReplica& one, Value first, int part);

}  // namespace lockstep
