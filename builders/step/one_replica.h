// SPDX-License-Identifier: Apache-2.0
// One replica's step under construction. Names have no scope and nodes have no replica. Work over
// all replicas is a collective with one operand (see graph/passes/replicate.h).
#pragma once

#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "lockstep/net.h"

namespace lockstep {

struct OneReplica {
  explicit OneReplica(const OpSet& ops) : graph(ops, "step") {}

  // The rows of one pass through the network: a replica's share of the batch, or a micro-batch.
  struct Part {
    std::vector<Net::Named> inputs;
    Value weight = none;        // fed weight of the part's loss, or none
    std::vector<Value> losses;  // the differentiated values
    std::vector<Value> metrics;
    std::vector<Value> outputs;  // only for the forward pass alone
  };

  Graph graph;
  std::vector<Net::Param> params;  // `next`: the last part's value
  std::vector<std::string> loss_names, metric_names, output_names;
  std::vector<Part> parts;
  std::vector<Value> counts;  // counts of parts[0].losses; none: the loss is a mean over the rows
  // For each later part: values that exist before repeat(), keyed by the first part's value.
  std::vector<std::unordered_map<int, Value>> early;
  std::set<int> early_nodes;      // nodes that compute early values
  std::vector<Value> gradients;   // gradients of params; none: not trained
  std::vector<std::string> held;  // states that hold a batch (resident_inputs.h)

  std::vector<Value> present_gradients() const;  // last layer first
  void for_each_value(const std::function<void(Value&)>& change);
  std::set<int> listed();  // ids of all values that this object names, and of graph outputs
  // Calls `change` for each gradient that is not none. `change` may replace the gradient.
  template <class Change>
  void for_each_gradient(const Change& change) {
    for (std::size_t p = 0; p < params.size(); ++p)
      if (gradients[p]) change(params[p], gradients[p]);
  }
};

// Throws if the network has a value of this name, which the step needs for an input.
void check_free(const Graph& graph, const std::string& name, const std::string& what);
// Adds an input of the step itself. `what` describes the input in the error if the network has a
// value of this name.
Value step_input(Graph& graph, const std::string& name, const TensorType& type,
                 const std::string& what, const std::string& origin = "");

// Traces the network in training mode, with its losses as declared. With `forward_only` the network
// may have no loss, and its outputs are kept.
OneReplica trace(const OpSet& ops, const ModelFn& model, bool forward_only = false);

// Backward pass. `seeds` are the gradients of the losses, or empty for 1. Parameters that match
// `frozen` get no gradient. A parameter that no loss reaches is an error, or gets no gradient with
// `allow_untrained`. With `forward_only` no parameter gets a gradient.
struct Differentiation {
  std::vector<Value> seeds = {};
  std::vector<std::string> frozen = {};
  bool allow_untrained = false;
  bool forward_only = false;
};
void differentiate(OneReplica& one, const Differentiation& how);

// Splits the share into `parts` parts, which run forward and backward pass in sequence, and adds
// their gradients. Values that do not depend on the batch are computed once. Names of later parts
// begin with micro_1/, micro_2/, ..
void repeat(OneReplica& one, int parts);
// A later part's counterpart of the first part's value `first`, added before repeat(), which reuses
// the copy. The value should depend on inputs alone, because its nodes run before the first part.
Value value_in_part(OneReplica& one, Value first, int part);

}  // namespace lockstep
