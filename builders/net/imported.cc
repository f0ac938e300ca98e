// SPDX-License-Identifier: Apache-2.0
#include "builders/net/imported.h"

#include <algorithm>

#include "builders/net/bytes.h"
#include "builders/net/patterns.h"
#include "builders/net/regularisers.h"
#include "graph/gradient.h"
#include "lockstep/operators.h"
#include "operators/batch_norm/batch_norm.h"
#include "operators/gemm/gemm.h"
#include "operators/rnn/rnn.h"

namespace lockstep {
namespace {

bool is_batch_norm(const Node& node) {
  return node.type() == "BatchNormalization" && node.domain().empty();
}

// Names of running mean and variance (operands 3 and 4) of all batch normalisations.
std::set<std::string> running_statistics(const Graph& graph) {
  std::set<std::string> names;
  for (int i = 0; i < graph.node_count(); ++i)
    if (Node node = graph.node(i); is_batch_norm(node))
      for (std::size_t k : {3, 4}) names.insert(graph.name(node.inputs()[k]));
  return names;
}

// Names of the constants in the arithmetic that follows the cast of a uint8 input.
std::set<std::string> normalisers_of_inputs(const Graph& graph) {
  static const std::set<std::string> kArithmetic{"Add", "Sub", "Mul", "Div"};
  std::set<std::string> names;
  std::set<int> normalised;  // values
  for (int i = 0; i < graph.node_count(); ++i) {
    const Node node = graph.node(i);
    const auto inputs = node.inputs();
    const auto& fed = graph.inputs();
    if (node.type() == "Cast" && graph.dtype(inputs[0]) == DType::uint8 &&
        std::find(fed.begin(), fed.end(), inputs[0]) != fed.end())
      normalised.insert(node.outputs()[0].id);
    if (!kArithmetic.contains(node.type())) continue;
    for (std::size_t k : {0, 1})
      if (normalised.contains(inputs[1 - k].id) && graph.literal(inputs[k])) {
        names.insert(graph.name(inputs[k]));
        normalised.insert(node.outputs()[0].id);
      }
  }
  return names;
}

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
    if (is_batch_norm(node) && has_statistics(node) &&
        (options_.train_batch_norm || read_batch_norm(node).training))
      return copy_batch_norm(node);
    if (is_batch_norm(node) && read_batch_norm(node).training && net_.training())
      return copy_standardisation(node);
    std::vector<Value> inputs;
    for (Value input : node.inputs()) inputs.push_back(of(input));
    if (is_recurrent(node) && net_.training()) return copy_recurrent(node, inputs);
    if (node.type() == "Dropout" && !net_.training() && inputs.size() > 2) inputs.resize(2);
    Node copied = net_.graph.copy(node, inputs);
    for (std::size_t i = 0; i < node.outputs().size(); ++i)
      if (node.outputs()[i]) values_[node.outputs()[i].id] = copied.outputs()[i];
  }

  // True if mean and variance are running statistics. Networks also standardise weights by batch
  // normalisation, with statistics that are computed in each step.
  bool has_statistics(const Node& node) const {
    return from_.literal(node.inputs()[3]) && from_.literal(node.inputs()[4]);
  }

  // Copies a batch normalisation in training mode that has no state.
  void copy_standardisation(const Node& node) {
    const auto inputs = node.inputs();
    const OriginScope origin(net_.graph, node.where());
    // The result does not depend on the statistics that are given.
    auto given = [&](Value value) { return stop_gradient(net_.graph, of(value)); };
    const BatchNormResults results = batch_norm_train(
        net_.graph,
        {of(inputs[0]), of(inputs[1]), of(inputs[2]), given(inputs[3]), given(inputs[4])},
        read_batch_norm(node), from_.name(node.outputs()[0]));
    const Value made[] = {results.y, results.mean, results.variance};
    for (std::size_t i = 0; i < node.outputs().size(); ++i)
      if (node.outputs()[i]) values_[node.outputs()[i].id] = made[i];
  }

  // A running statistic. Throws if two nodes use the statistic, because both would update it.
  Value statistic(Value value) {
    const Literal* literal = from_.literal(value);
    check(literal, "'", from_.name(value),
          "' is a running statistic, which should be an initializer");
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
  std::unordered_map<int, Value> regularisers_;  // left out of a prediction
  std::unordered_set<int> unused_;               // nodes left out with them
};

}  // namespace

std::set<std::string> float_initializers(const LoadedModel& file) {
  const Graph& graph = file.model.inference;
  std::set<std::string> kept = running_statistics(graph);
  kept.merge(normalisers_of_inputs(graph));
  std::set<std::string> names;
  for (const std::string& name : file.initializers)
    if (const Value value = graph.find(name);
        value && graph.dtype(value) == DType::float32 && !kept.contains(name))
      names.insert(name);
  return names;
}

std::set<std::string> trainable_initializers(const LoadedModel& file, const std::string& loss,
                                             const std::vector<std::string>& frozen) {
  const Graph& graph = file.model.inference;
  check_patterns_used(frozen, {file.initializers.begin(), file.initializers.end()},
                      "frozen parameters (MODEL.FREEZE, --freeze)");
  // Differentiates a copy of the network in training mode.
  ImportedOptions all;
  for (const std::string& name : float_initializers(file))
    if (!matches_any(name, frozen)) all.trainable.insert(name);
  Graph scratch(graph.ops(), "trainable");
  Net net(scratch, Mode::train);
  ImportedValues value_named = add_imported(net, file, all);
  std::vector<Value> params;
  for (const Net::Param& param : net.params())
    if (param.kind != StateKind::computed) params.push_back(param.value);
  Value target = value_named(loss);
  if (!scratch.shape(target).empty()) target = reduce_sum(scratch, target, {}, false, "total");
  std::vector<Value> gradients =
      params.empty() ? params : add_gradients(scratch, {{target}}, params).values;
  std::set<std::string> names;
  for (std::size_t i = 0; i < params.size(); ++i)
    if (gradients[i]) names.insert(scratch.name(params[i]));
  return names;
}

std::set<std::string> check_some_trainable(const LoadedModel& file, const std::string& loss,
                                           const std::vector<std::string>& frozen) {
  std::set<std::string> names = trainable_initializers(file, loss, frozen);
  if (!names.empty()) return names;
  const std::string nothing = join("there is nothing to train: '", loss, "' depends on ");
  const std::size_t all = trainable_initializers(file, loss, {}).size();
  check(all == 0, nothing, "float32 initializers, but all ", all,
        " are frozen by MODEL.FREEZE or --freeze: free some");
  const Graph& graph = file.model.inference;
  std::map<DType, int> others;
  for (const std::string& name : file.initializers)
    if (const Value value = graph.find(name); value && is_floating(graph.dtype(value)))
      ++others[graph.dtype(value)];
  others.erase(DType::float32);
  check(!others.empty(), nothing, "no float32 initializer");
  std::string counts;
  for (const auto& [type, count] : others)
    counts += join(counts.empty() ? "" : ", ", count, " of ", type);
  fail(nothing, "no float32 initializer, but there are others: ", counts,
       "; parameters are trained in float32: export the network in float32 (PyTorch: "
       "model.float()); to compute in 16 bits, set PRECISION");
}

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
