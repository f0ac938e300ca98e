// SPDX-License-Identifier: Apache-2.0
#include "graph/verify.h"

#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>

#include <iostream>
#include <map>
#include <set>

#include "graph/export.h"
#include "graph/guarded_schemas.h"
#include "graph/onnx.h"
#include "lockstep/model_files.h"

namespace lockstep {
namespace {

template <class List>
void append(const List& from, List& to, std::set<std::string>& seen, bool once) {
  for (const auto& item : from) {
    if (!seen.insert(item.name()).second) {
      check(once, "'", item.name(), "' occurs in both the inference graph and the algorithm");
      continue;
    }
    *to.Add() = item;
  }
}

// Turns state with external (or no) data into inputs of the same type. The bytes are not checked
// here, and the checker would look for the file.
onnx::ModelProto without_external_data(onnx::ModelProto model) {
  auto& graph = *model.mutable_graph();
  google::protobuf::RepeatedPtrField<onnx::TensorProto> kept;
  for (auto& tensor : *graph.mutable_initializer()) {
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL) {
      *kept.Add() = std::move(tensor);
      continue;
    }
    auto* input = graph.add_input();
    input->set_name(tensor.name());
    to_proto(TensorType{static_cast<DType>(tensor.data_type()),
                        Shape(tensor.dims().begin(), tensor.dims().end())},
             *input->mutable_type());
  }
  *graph.mutable_initializer() = std::move(kept);
  return model;
}

// Silences std::cerr. ONNX's checker warns about every operator named like an old experimental ONNX
// operator (ours: Scale), in any domain.
class QuietStderr {
 public:
  QuietStderr() : saved_(std::cerr.rdbuf(nullptr)) {}
  ~QuietStderr() { std::cerr.rdbuf(saved_); }
  QuietStderr(const QuietStderr&) = delete;

 private:
  std::streambuf* saved_;
};

// True if a node casts to bfloat16. Opset 17's schemas refuse convolutions and pools of bfloat16,
// which ONNX allows from opset 22. Only the type check is skipped then.
bool has_bfloat16(const onnx::GraphProto& graph) {
  for (const onnx::NodeProto& node : graph.node())
    for (const onnx::AttributeProto& attribute : node.attribute())
      if (node.op_type() == "Cast" && attribute.name() == "to" &&
          attribute.i() == onnx::TensorProto::BFLOAT16)
        return true;
  return false;
}

void check_by_onnx(const onnx::ModelProto& with_external) {
  QuietStderr quiet;
  try {
    onnx::ModelProto model = without_external_data(with_external);
    onnx::checker::check_model(model);
    onnx::ModelProto inferred = model;
    onnx::shape_inference::InferShapes(
        inferred, &guarded_schemas(),
        {/*check_type=*/!has_bfloat16(model.graph()), /*error_mode=*/1,
         /*enable_data_propagation=*/false});
  } catch (const std::exception& error) {
    fail("ONNX's checker rejects the model: ", error.what());
  }
}

std::map<std::string, TensorType> types_in(const onnx::GraphProto& graph) {
  std::map<std::string, TensorType> types;
  for (const auto* list : {&graph.input(), &graph.output(), &graph.value_info()})
    for (const auto& info : *list) types[info.name()] = from_proto(info.type());
  for (const auto& tensor : graph.initializer())
    types[tensor.name()] = {static_cast<DType>(tensor.data_type()),
                            Shape(tensor.dims().begin(), tensor.dims().end())};
  return types;
}

void check_bindings(
    const google::protobuf::RepeatedPtrField<onnx::StringStringEntryProto>& bindings,
    const std::map<std::string, TensorType>& values, const std::set<std::string>& states,
    const std::map<std::string, TensorType>& state_types, const char* what) {
  std::set<std::string> bound;
  for (const auto& binding : bindings) {
    check(bound.insert(binding.key()).second, what, ": '", binding.key(), "' is bound twice");
    check(states.count(binding.key()) == 1, what, ": '", binding.key(),
          "' is not an initializer of the inference graph or the algorithm");
    auto value = values.find(binding.value());
    check(value != values.end(), what, ": '", binding.key(), "' takes '", binding.value(),
          "', which does not exist");
    const TensorType& state = state_types.at(binding.key());
    check(state == value->second, what, ": '", binding.key(), "' is ", state, " but takes '",
          binding.value(), "', which is ", value->second);
  }
}

std::set<std::string> initializers_of(const onnx::GraphProto& graph) {
  std::set<std::string> names;
  for (const auto& tensor : graph.initializer()) names.insert(tensor.name());
  return names;
}

void check_replicated(const TrainingModel& model, const Replicated& item, const char* what) {
  check(static_cast<int>(item.values.size()) == model.replicas, what, " '", item.name, "' has ",
        item.values.size(), " values for ", model.replicas, " replicas");
  for (const std::string& name : item.values) model.step.at(name);
}

}  // namespace

onnx::GraphProto combine(const onnx::ModelProto& model) {
  onnx::GraphProto whole = model.graph();
  if (model.training_info_size() == 0) return whole;
  const onnx::GraphProto& algorithm = model.training_info(0).algorithm();
  std::set<std::string> nodes, initializers, inputs, outputs, infos;
  for (const auto& node : whole.node()) nodes.insert(node.name());
  for (const auto& item : whole.initializer()) initializers.insert(item.name());
  for (const auto& item : whole.input()) inputs.insert(item.name());
  for (const auto& item : whole.output()) outputs.insert(item.name());
  for (const auto& item : whole.value_info()) infos.insert(item.name());
  for (const auto& node : algorithm.node()) *whole.add_node() = node;
  append(algorithm.initializer(), *whole.mutable_initializer(), initializers, false);
  append(algorithm.input(), *whole.mutable_input(), inputs, true);
  append(algorithm.output(), *whole.mutable_output(), outputs, true);
  append(algorithm.value_info(), *whole.mutable_value_info(), infos, true);
  return whole;
}

void verify(const onnx::ModelProto& model) {
  onnx::ModelProto whole = model;
  whole.clear_training_info();
  *whole.mutable_graph() = combine(model);
  check_by_onnx(whole);
  if (model.training_info_size() == 0) return;

  const onnx::TrainingInfoProto& info = model.training_info(0);
  onnx::ModelProto initialization = model;
  initialization.clear_training_info();
  *initialization.mutable_graph() = info.initialization();
  check_by_onnx(initialization);

  std::set<std::string> states = initializers_of(model.graph());
  states.merge(initializers_of(info.algorithm()));
  auto types = types_in(whole.graph());
  check_bindings(info.update_binding(), types, states, types, "update binding");
  check_bindings(info.initialization_binding(), types_in(info.initialization()), states, types,
                 "initialization binding");
}

void verify(const TrainingModel& model) {
  for (const State& state : model.states) {
    check_replicated(model, state, "state");
    for (const std::string& name : state.values)
      check(!model.step.producer(model.step.at(name)), "state '", name,
            "' is computed by the step; it must be an input");
    for (const std::string& name : state.values)
      check(model.step.type(model.step.at(name)) == model.step.type(model.step.at(state.values[0])),
            "state '", name, "' differs in type or shape from '", state.values[0], "'");
  }
  for (const Replicated& input : model.inputs) check_replicated(model, input, "input");
  for (const Replicated& loss : model.losses) check_replicated(model, loss, "loss");
  for (const Replicated& metric : model.metrics) check_replicated(model, metric, "metric");
  verify(to_onnx(model));
}

}  // namespace lockstep
