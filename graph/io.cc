// SPDX-License-Identifier: Apache-2.0
#include "lockstep/model_files.h"

#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include "graph/export.h"
#include "graph/limits.h"
#include "graph/local_functions.h"
#include "graph/onnx.h"
#include "graph/roles.h"
#include "graph/staged_file.h"
#include "graph/write_place.h"

namespace lockstep {
namespace {

void write_bindings(const std::vector<Binding>& from,
                    google::protobuf::RepeatedPtrField<onnx::StringStringEntryProto>& to) {
  for (const Binding& binding : from) {
    auto* entry = to.Add();
    entry->set_key(binding.state);
    entry->set_value(binding.value);
  }
}

// Returns all initializers that are state, in both graphs.
std::vector<onnx::TensorProto*> state_tensors(onnx::ModelProto& proto) {
  std::vector<onnx::TensorProto*> tensors;
  auto add = [&](onnx::GraphProto& graph) {
    for (auto& tensor : *graph.mutable_initializer())
      if (tensor.data_location() == onnx::TensorProto::EXTERNAL) tensors.push_back(&tensor);
  };
  add(*proto.mutable_graph());
  for (auto& info : *proto.mutable_training_info()) add(*info.mutable_algorithm());
  return tensors;
}

Literal state_value(const onnx::TensorProto& tensor, const StateValues* values) {
  DType dtype = static_cast<DType>(tensor.data_type());
  Dims dims(tensor.dims().begin(), tensor.dims().end());
  if (!values) return Literal(dtype, dims);
  auto found = values->find(tensor.name());
  check(found != values->end(), "no value is given for state '", tensor.name(), "'");
  check(found->second.dtype() == dtype && found->second.dims() == dims, "state '", tensor.name(),
        "' is ", dtype, dims, " but its value is ", found->second.type());
  return found->second;
}

// Appends each distinct content once, 64-byte aligned for mapping. `location`: the file's name.
void append_external(const std::vector<onnx::TensorProto*>& tensors, const StateValues* values,
                     const std::string& location, StagedFile& file) {
  std::map<std::string, int64_t> offset_of;
  int64_t end = 0;
  for (onnx::TensorProto* tensor : tensors) {
    Literal literal = state_value(*tensor, values);
    std::string key(reinterpret_cast<const char*>(literal.bytes().data()), literal.bytes().size());
    auto [known, fresh] = offset_of.emplace(std::move(key), end);
    if (fresh) {
      file.append(literal.bytes());
      end += static_cast<int64_t>(literal.bytes().size());
      std::vector<std::byte> padding((64 - end % 64) % 64);
      file.append(padding);
      end += static_cast<int64_t>(padding.size());
    }
    tensor->clear_external_data();
    for (auto& [key, value] : {std::pair{"location", location},
                               {"offset", std::to_string(known->second)},
                               {"length", std::to_string(literal.bytes().size())}}) {
      auto* entry = tensor->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
  }
}

bool uses_own_operators(const TrainingModel& model) {
  for (const Graph* graph : {&model.inference, &model.init, &model.step})
    for (int index = 0; index < graph->node_count(); ++index)
      if (graph->node(index).domain() == kOwnDomain) return true;
  return false;
}

}  // namespace

onnx::ModelProto headed(const TrainingModel& model) {
  onnx::ModelProto proto;
  proto.set_ir_version(kIrVersion);
  proto.set_producer_name("lockstep");
  auto* opset = proto.add_opset_import();
  opset->set_domain("");
  opset->set_version(kOpset);
  if (uses_own_operators(model)) {
    opset = proto.add_opset_import();
    opset->set_domain(kOwnDomain);
    opset->set_version(kOwnOpset);
  }
  return proto;
}

onnx::ModelProto to_onnx(const TrainingModel& model) {
  onnx::ModelProto proto = headed(model);
  write_roles(model, proto);

  std::set<std::string> states;  // other states are inputs that loading a batch fills
  for (const State& state : model.states)
    if (is_saved(state.kind)) states.insert(state.values.begin(), state.values.end());
  export_graph(model.inference, states, *proto.mutable_graph());
  std::set<std::string> in_inference;
  for (const auto& tensor : proto.graph().initializer()) in_inference.insert(tensor.name());
  if (model.metadata.contains(kPortable)) add_local_functions(model.inference, proto);
  if (model.step.node_count() == 0) return proto;

  auto* info = proto.add_training_info();
  export_graph(model.init, {}, *info->mutable_initialization());
  export_graph(model.step, states, *info->mutable_algorithm());
  // A state of both graphs is only an initializer of the inference graph.
  auto& initializers = *info->mutable_algorithm()->mutable_initializer();
  for (int i = initializers.size() - 1; i >= 0; --i)
    if (in_inference.count(initializers[i].name()) && states.count(initializers[i].name()))
      initializers.DeleteSubrange(i, 1);
  write_bindings(model.initial, *info->mutable_initialization_binding());
  write_bindings(model.updates, *info->mutable_update_binding());
  return proto;
}

void save_model(const TrainingModel& model, const std::string& path, const SaveOptions& options) {
  onnx::ModelProto proto = to_onnx(model);
  const bool initialised = options.values || model.states.empty();
  add_metadata(proto, "initialised", initialised ? "true" : "false");
  if (!initialised)
    proto.set_doc_string(
        "Not initialised: the state is zeros. Lockstep runs the graph "
        "training_info[0].initialization before the first step.");
  save_proto(std::move(proto), path, options);
}

void save_proto(onnx::ModelProto proto, const std::string& path, const SaveOptions& options) {
  std::vector<onnx::TensorProto*> tensors = state_tensors(proto);
  std::size_t bytes = 0;
  for (const auto* tensor : tensors)
    bytes =
        saturating_add(bytes, element_count(Dims(tensor->dims().begin(), tensor->dims().end())) *
                                  size_of(static_cast<DType>(tensor->data_type())));
  const bool external = bytes > options.inline_limit;
  if (external) check_places_differ(path, path + ".data");
  StagedFile file(path);
  std::optional<StagedFile> data;
  if (external) {
    const std::string name = path + ".data";
    data.emplace(name);
    append_external(tensors, options.values, std::filesystem::path(name).filename().string(),
                    *data);
    data->sync();
  } else {
    for (onnx::TensorProto* tensor : tensors) {
      Literal literal = state_value(*tensor, options.values);
      tensor->clear_external_data();
      tensor->clear_data_location();
      tensor->clear_dims();
      to_proto(literal, *tensor);
    }
  }
  std::string text;
  check(proto.SerializeToString(&text), path, ": the model is larger than protobuf can write");
  file.append(std::as_bytes(std::span(text)));
  file.sync();
  if (data) data->replace();
  file.replace();
}

}  // namespace lockstep
