// SPDX-License-Identifier: Apache-2.0
#include "builders/net/imported.h"

#include "builders/net/bytes.h"
#include "builders/net/imported_batch_norms.h"
#include "builders/net/regularisers.h"
#include "lockstep/operators.h"
#include "operators/batch_norm/batch_norm.h"
#include "operators/gemm/gemm.h"
#include "operators/rnn/rnn.h"

namespace lockstep {
namespace {

// Copies one file's graph into one Net.
class Copy {
 public:
  Copy(Net& net, const LoadedModel& file, const ImportedOptions& options)
      : net_(net), from_(file.model.inference), options_(options) {
    values_.resize(from_.value_count());
    if (!net.training()) {
      regularisers_ = regularisers_of(from_);
      unused_ = only_for_regularisers(from_, regularisers_);
    }
    for (const ImportedBatchNorm& norm : batch_norms_of(file))
      if (norm.training || is_named(norm, options.train_batch_norm)) batch_norms_.insert(norm.node);
    for (Value input : from_.inputs()) values_[input.id] = fed(input);
    for (int i = 0; i < from_.node_count(); ++i)
      if (!unused_.contains(i)) copy(from_.node(i));
  }

  Value of(Value value) { return value ? translated(value) : none; }

 private:
  Value fed(Value input) {
    const std::string& name = from_.name(input);
    const auto bytes = options_.bytes.find(name);
    if (bytes == options_.bytes.end()) return net_.input(name, from_.type(input), Where{});
    return byte_input(net_, name, from_.shape(input), bytes->second, Where{});
  }

  // Creates a constant at its first use. Inputs and results of nodes already exist.
  Value translated(Value value) {
    Value& here = values_[value.id];
    if (here) return here;
    const Literal* literal = from_.literal(value);
    check(literal, "internal: '", from_.name(value), "' is used before it is computed");
    const std::string& name = from_.name(value);
    if (options_.trainable.count(name))
      here = param(name, *literal, StateKind::weight);
    else
      here = net_.graph.constant(name, *literal);
    return here;
  }

  Value param(const std::string& name, const Literal& literal, StateKind kind) {
    auto other = options_.renewed.find(name);
    if (other == options_.renewed.end())
      return net_.param(name, literal.dims(), given(literal), kind, Where{});
    return net_.param(name, other->second.dims, other->second.initializer, kind, Where{});
  }

  void copy(const Node& node) {
    if (const auto kept = regularisers_.find(node.index()); kept != regularisers_.end()) {
      values_[node.outputs()[0].id] = of(kept->second);
      return;
    }
    if (batch_norms_.contains(node.index())) return copy_batch_norm(node);
    std::vector<Value> inputs;
    for (Value input : node.inputs()) inputs.push_back(of(input));
    if (is_batch_norm(node) && read_batch_norm(node).training && net_.training())
      return copy_standardisation(node, inputs);
    if (is_recurrent(node) && net_.training()) return copy_recurrent(node, inputs);
    if (node.type() == "Dropout" && !net_.training() && inputs.size() > 2) inputs.resize(2);
    Node copied = net_.graph.copy(node, inputs);
    for (std::size_t i = 0; i < node.outputs().size(); ++i)
      if (node.outputs()[i]) values_[node.outputs()[i].id] = copied.outputs()[i];
  }

  // A running statistic. Throws if two nodes use the statistic, because both would update it.
  Value statistic(Value value) {
    const Literal* literal = from_.literal(value);
    check(!values_[value.id], "'", from_.name(value),
          "' is the running statistic of two nodes that train");
    return values_[value.id] = param(from_.name(value), *literal, StateKind::computed);
  }

  void copy_batch_norm(const Node& node) {
    const auto inputs = node.inputs();
    BatchNormOperands operands{of(inputs[0]), of(inputs[1]), of(inputs[2]), statistic(inputs[3]),
                               statistic(inputs[4])};
    const OriginScope origin(net_.graph, node.where());
    const std::string& site = from_.name(node.outputs()[0]);
    auto keep = [&](std::size_t i, Value value) {
      if (i < node.outputs().size() && node.outputs()[i]) values_[node.outputs()[i].id] = value;
    };
    if (!net_.training()) {
      keep(0, batch_norm(net_.graph, operands, read_batch_norm(node), site));
      keep(1, operands.mean);
      keep(2, operands.variance);
      return;
    }
    BatchNormResults results = batch_norm_train(net_.graph, operands, read_batch_norm(node), site);
    net_.next(operands.mean, results.mean);
    net_.next(operands.variance, results.variance);
    keep(0, results.y);
    keep(1, results.mean);
    keep(2, results.variance);
  }

  // Copies a node that normalises by its operand's own statistics and keeps none, such as a weight
  // standardisation. Prediction copies the node as it is.
  void copy_standardisation(const Node& node, const std::vector<Value>& inputs) {
    const OriginScope origin(net_.graph, node.where());
    // The result does not depend on the statistics that are given.
    const auto given = [&](Value value) { return stop_gradient(net_.graph, value); };
    const BatchNormResults results = batch_norm_train(
        net_.graph, {inputs[0], inputs[1], inputs[2], given(inputs[3]), given(inputs[4])},
        read_batch_norm(node), from_.name(node.outputs()[0]));
    const Value copied[] = {results.y, results.mean, results.variance};
    for (std::size_t i = 0; i < node.outputs().size() && i < std::size(copied); ++i)
      if (node.outputs()[i]) values_[node.outputs()[i].id] = copied[i];
  }

  // Copies a recurrent node in training form, which stores the values for its gradient.
  void copy_recurrent(const Node& node, const std::vector<Value>& inputs) {
    const OriginScope origin(net_.graph, node.where());
    const Node copied = train_recurrent(net_.graph, node, inputs, Site(node.name()));
    for (std::size_t i = 0; i < node.outputs().size(); ++i)
      if (node.outputs()[i]) values_[node.outputs()[i].id] = copied.outputs()[i];
  }

  Net& net_;
  const Graph& from_;
  const ImportedOptions& options_;
  std::vector<Value> values_;                    // by value id in the file's graph
  std::set<int> batch_norms_;                    // nodes that train
  std::unordered_map<int, Value> regularisers_;  // left out of a prediction
  std::unordered_set<int> unused_;               // nodes left out with them
};

}  // namespace

Classifier find_classifier(const LoadedModel& file, const std::string& scores) {
  const Graph& graph = file.model.inference;
  auto node = graph.producer(graph.at(scores));
  check(node.has_value(), "'", scores, "' is not the output of a node");
  Value weight, bias;
  Classifier found;
  if (node->type() == "Gemm") {
    weight = node->inputs()[1];
    bias = node->inputs().size() > 2 ? node->inputs()[2] : none;
    found.class_axis = read_gemm(node->attributes()).trans_b ? 0 : 1;
  } else {
    if (node->type() == "Add")
      for (std::size_t i : {0, 1})
        if (graph.literal(node->inputs()[i])) {
          bias = node->inputs()[i];
          node = graph.producer(node->inputs()[1 - i]);
          break;
        }
    check(node && node->type() == "MatMul", "'", scores,
          "' is not the output of a Gemm, or of a MatMul and an Add, so there is no last layer to "
          "replace");
    weight = node->inputs()[1];
    found.class_axis = 1;
  }
  const Literal* literal = graph.literal(weight);
  check(literal && literal->dims().size() == 2, "the weight of '", scores,
        "' is not an initializer with two dimensions");
  found.weight = graph.name(weight);
  found.bias = bias ? graph.name(bias) : "";
  found.classes = literal->dims()[found.class_axis];
  return found;
}

ImportedValues add_imported(Net& net, const LoadedModel& file, const ImportedOptions& options) {
  auto copy = std::make_shared<Copy>(net, file, options);
  return [copy, &file](const std::string& name) { return copy->of(file.model.inference.at(name)); };
}

ModelFn imported_model(std::shared_ptr<const LoadedModel> file, const std::string& loss,
                       const ImportedOptions& options) {
  return [file = std::move(file), loss, options](Net& net) {
    ImportedValues value_named = add_imported(net, *file, options);
    if (net.training() && !loss.empty()) net.loss(loss, value_named(loss));
    const Graph& graph = file->model.inference;
    if (!net.training() || loss.empty())
      for (Value output : graph.outputs())
        net.output(graph.name(output), value_named(graph.name(output)));
  };
}

}  // namespace lockstep
