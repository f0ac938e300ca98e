// SPDX-License-Identifier: Apache-2.0
// Names as in tests/golden/resnet50_horovod_order.txt: a step of keras.applications' ResNet50 under
// TensorFlow. TensorFlow has two operators for a convolution and its bias. Here both are one node,
// with the name of the convolution and a result with the name of the sum. docs/keras_names.md lists
// the names of TensorFlow that are missing here, with reasons.
#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "graph/passes/rename.h"
#include "models/step_names.h"

namespace lockstep {
namespace {

// The operand or result with the name of the node's layer.
enum class Told { by_result, by_result_1, by_operand_0, by_operand_1 };

// Names for the nodes of one type. @ stands for the node's layer.
struct Rule {
  std::string_view type;
  Told told;
  std::string_view ending;       // the name of the value `told` is @ + `ending`
  std::string_view name;         // name of the node and its first result
  std::string_view result = "";  // name of the first result, if it differs from the node's
  std::array<std::string_view, 4> more = {};  // names of further results; "" keeps a name
};

// The first matching rule names a node.
constexpr Rule kRules[] = {
    {"Conv", Told::by_result, "", "resnet50/@/Conv2D", "resnet50/@/BiasAdd"},
    {"BatchNormTrain",
     Told::by_result,
     "",
     "resnet50/@/FusedBatchNormV3",
     "",
     {"resnet50/@/AssignNewValue", "resnet50/@/AssignNewValue_1", "resnet50/@/FusedBatchNormV3:3",
      "resnet50/@/FusedBatchNormV3:4"}},
    {"Relu", Told::by_result, "", "resnet50/@/Relu"},
    {"Add", Told::by_result, "_add", "resnet50/@_add/add"},
    {"MaxPool", Told::by_result, "", "resnet50/@/MaxPool"},
    {"GlobalAveragePool", Told::by_result, "", "resnet50/@/Mean"},
    {"Gemm", Told::by_result, "_in_grad", "gradient_tape/resnet50/@/MatMul"},
    {"Gemm", Told::by_result, "/kernel_grad", "gradient_tape/resnet50/@/MatMul_1"},
    {"Gemm", Told::by_result, "", "resnet50/@/MatMul", "resnet50/@/BiasAdd"},
    {"SoftmaxCrossEntropyLoss", Told::by_result, "",
     "SparseSoftmaxCrossEntropyWithLogits/SparseSoftmaxCrossEntropyWithLogits"},
    {"SoftmaxCrossEntropyLossGrad", Told::by_result, "_grad",
     "gradient_tape/SparseSoftmaxCrossEntropyWithLogits/mul"},
    {"Reshape", Told::by_result, "_grad", "gradient_tape/resnet50/@/Reshape"},
    {"GlobalAveragePoolGrad", Told::by_operand_0, "_grad", "gradient_tape/resnet50/@/truediv"},
    {"ReluGrad", Told::by_operand_1, "", "gradient_tape/resnet50/@/ReluGrad"},
    {"BatchNormGrad",
     Told::by_result_1,
     "/gamma_grad",
     "gradient_tape/resnet50/@/FusedBatchNormGradV3",
     "",
     {"gradient_tape/resnet50/@/FusedBatchNormGradV3:1",
      "gradient_tape/resnet50/@/FusedBatchNormGradV3:2"}},
    {"ConvGradX", Told::by_operand_1, "/kernel",
     "gradient_tape/resnet50/@/Conv2D/Conv2DBackpropInput"},
    {"ConvGradW", Told::by_result, "/kernel_grad",
     "gradient_tape/resnet50/@/Conv2D/Conv2DBackpropFilter"},
    {"ReduceSum", Told::by_result, "/bias_grad", "gradient_tape/resnet50/@/BiasAdd/BiasAddGrad"},
    {"MaxPoolGrad", Told::by_operand_0, "_grad", "gradient_tape/resnet50/@/MaxPool/MaxPoolGrad"},
};

// Endings of a layer's variables, with the names of the nodes that read the variables. The first
// match counts, because one layer has a kernel for MatMul instead of Conv2D.
constexpr std::pair<std::string_view, std::string_view> kReads[] = {
    {"predictions/kernel", "resnet50/predictions/MatMul/ReadVariableOp"},
    {"/kernel", "resnet50/@/Conv2D/ReadVariableOp"},
    {"/bias", "resnet50/@/BiasAdd/ReadVariableOp"},
    {"/gamma", "resnet50/@/ReadVariableOp"},
    {"/beta", "resnet50/@/ReadVariableOp_1"},
    {"/moving_mean", "resnet50/@/FusedBatchNormV3/ReadVariableOp"},
    {"/moving_variance", "resnet50/@/FusedBatchNormV3/ReadVariableOp_1"},
};

// The text before the ending, or nothing if the name has another ending.
std::optional<std::string> stem(const std::string& name, std::string_view ending) {
  if (!name.ends_with(ending)) return std::nullopt;
  return name.substr(0, name.size() - ending.size());
}

// The layer's name before the ending. The name of a layer has no slash.
std::optional<std::string> layer_in(const std::string& name, std::string_view ending) {
  std::optional<std::string> layer = stem(name, ending);
  if (layer && layer->find('/') != layer->npos) return std::nullopt;
  return layer;
}

std::string of_layer(std::string_view pattern, const std::string& layer) {
  std::string name(pattern);
  const std::size_t at = name.find('@');
  return at == name.npos ? name : name.replace(at, 1, layer);
}

// Appends _number, except for number 0.
std::string numbered(const std::string& name, int number) {
  return number == 0 ? name : join(name, "_", number);
}

// The scope of each replica, such as cpu_0/.
std::vector<std::string> scopes_of(const TrainingModel& model) {
  check(!model.inputs.empty(), "internal: a step of ResNet50 without inputs");
  const StepInput& input = model.inputs.front();
  std::vector<std::string> scopes;
  for (const std::string& value : input.values) {
    const std::optional<std::string> scope = stem(value, input.name);
    check(scope.has_value(), "internal: the input '", input.name, "' is called '", value,
          "' on a replica, which does not end with its name");
    scopes.push_back(*scope);
  }
  return scopes;
}

class KerasNames {
 public:
  explicit KerasNames(const TrainingModel& model) : model_(model), scopes_(scopes_of(model)) {
    // The model lists gradients in reverse order of the variables.
    for (std::size_t i = 0; i < model.gradients.size(); ++i)
      number_[model.gradients[i].name] = static_cast<int>(model.gradients.size() - 1 - i);
  }

  NewNames find() {
    for (const State& state : model_.states) name_read(state);
    for (const StepInput& input : model_.inputs)
      if (input.role == Role::rate) name_on_each(input.values, "SGD/Cast/ReadVariableOp");
    for (int index = 0; index < model_.step.node_count(); ++index)
      name_node(model_.step.node(index));
    order_reads();
    return std::move(names_);
  }

 private:
  // The name with the replica's scope. A step of one replica has no scopes.
  std::string scoped(std::size_t replica, const std::string& name) const {
    return model_.replicas == 1 ? name : scopes_[replica] + name;
  }

  void name_on_each(const std::vector<std::string>& values, const std::string& name) {
    for (std::size_t k = 0; k < values.size(); ++k) names_.values[values[k]] = scoped(k, name);
  }

  void name_read(const State& state) {
    if (!is_parameter(state.kind) && state.kind != StateKind::computed) return;
    for (const auto& [ending, read] : kReads)
      if (const auto layer = stem(state.name, ending))
        return name_on_each(state.values, of_layer(read, *layer));
  }

  // The value's name without the replica's scope; "" if the name has another scope.
  std::string bare(Value value, std::size_t replica) const {
    if (!value) return "";
    const std::string& name = model_.step.name(value);
    const std::string& scope = scopes_[replica];
    return name.starts_with(scope) ? name.substr(scope.size()) : "";
  }

  static Value told(const Node& node, Told told) {
    const bool is_result = told == Told::by_result || told == Told::by_result_1;
    const std::span<const Value> values = is_result ? node.outputs() : node.inputs();
    const std::size_t place = told == Told::by_result_1 || told == Told::by_operand_1 ? 1 : 0;
    return place < values.size() ? values[place] : none;
  }

  void name_node(const Node& node) {
    name_sums_over_replicas(node);
    if (node.replica() == kEveryReplica) return;
    const std::size_t replica = node.replica();
    if (replica >= scopes_.size()) return;  // on an auxiliary device
    if (node.type() == "MomentumSGDUpdate") return name_update(node, replica);
    if (node.type() == "Sum") return name_fork(node, replica);
    for (const Rule& rule : kRules) {
      if (node.type() != rule.type) continue;
      const auto layer = layer_in(bare(told(node, rule.told), replica), rule.ending);
      if (layer && !layer->empty() && !is_of_later_part(node, replica))
        return apply(rule, node, replica, *layer);
    }
  }

  // True if the node belongs to a later micro-batch. The first micro-batch's layers already have
  // the names.
  bool is_of_later_part(const Node& node, std::size_t replica) const {
    const std::string result = bare(node.outputs()[0], replica);
    return std::any_of(model_.inputs.begin(), model_.inputs.end(), [&](const StepInput& input) {
      return input.part > 0 && result.starts_with(scope_of_part(input.part) + "/");
    });
  }

  void apply(const Rule& rule, const Node& node, std::size_t replica, const std::string& layer) {
    name_one(node, replica, of_layer(rule.name, layer), node.outputs()[0]);
    if (!rule.result.empty()) name_value(node.outputs()[0], replica, of_layer(rule.result, layer));
    for (std::size_t i = 1; i < node.outputs().size() && i <= rule.more.size(); ++i)
      if (!rule.more[i - 1].empty())
        name_value(node.outputs()[i], replica, of_layer(rule.more[i - 1], layer));
  }

  void name_value(Value value, std::size_t replica, const std::string& name) {
    if (value) names_.values[model_.step.name(value)] = scoped(replica, name);
  }

  // Names the node and one of its results.
  void name_one(const Node& node, std::size_t replica, const std::string& name, Value result) {
    names_.nodes[node.index()] = scoped(replica, name);
    name_value(result, replica, name);
  }

  void name_update(const Node& node, std::size_t replica) {
    const Value updated = node.outputs().back();
    const auto param = stem(bare(updated, replica), "_new");
    const auto number = param ? number_.find(*param) : number_.end();
    if (number == number_.end()) return;
    const std::string update = numbered("SGD/SGD/update", number->second);
    name_one(node, replica, update + "/ResourceApplyGradientDescent", updated);
  }

  // Names the sum of gradients of a value that several layers read.
  void name_fork(const Node& node, std::size_t replica) {
    const Value sum = node.outputs()[0];
    if (layer_in(bare(sum, replica), "_grad"))
      name_one(node, replica, numbered("AddN", forks_[replica]++), sum);
  }

  void name_sums_over_replicas(const Node& node) {
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      const std::size_t replica =
          node.replica() == kEveryReplica ? i : static_cast<std::size_t>(node.replica());
      if (replica >= scopes_.size()) return;
      const std::string name = bare(node.outputs()[i], replica);
      auto param = stem(name, "_grad_sum");
      if (!param) param = stem(name, "_grad_mean");
      const auto number = param ? number_.find(*param) : number_.end();
      if (number == number_.end()) continue;
      const std::string sum =
          join(numbered("DistributedGradientTape_Allreduce/cond", number->second), "/output/_",
               8 * number->second + 6);  // the compiler's count of parts
      name_value(node.outputs()[i], replica, sum);
      if (node.type() == "AllReduce") names_.nodes[node.index()] = sum;
    }
  }

  // Declares reads in TensorFlow's order: projections of shortcuts first, from the deepest stage to
  // the first.
  void order_reads() {
    const auto depth = [](const State& state) {
      const bool projects = state.name.find("_0_") != state.name.npos;
      return projects ? -(state.name.at(4) - '0') : 0;  // conv3_block1_0_conv/kernel: stage 3
    };
    std::vector<const State*> states;
    for (const State& state : model_.states)
      if (names_.values.count(state.values.at(0))) states.push_back(&state);
    std::stable_sort(states.begin(), states.end(),
                     [&](const State* a, const State* b) { return depth(*a) < depth(*b); });
    for (const State* state : states)
      names_.first.insert(names_.first.end(), state->values.begin(), state->values.end());
  }

  const TrainingModel& model_;
  const std::vector<std::string> scopes_;        // by replica
  std::unordered_map<std::string, int> number_;  // of each trained variable, by creation
  std::unordered_map<std::size_t, int> forks_;   // number of sums named so far, by replica
  NewNames names_;
};

}  // namespace

TrainingModel with_keras_names(TrainingModel model) {
  NewNames names = KerasNames(model).find();
  return renamed(std::move(model), names);
}

}  // namespace lockstep
