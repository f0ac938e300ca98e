#include "graph/io.h"

#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "graph/export.h"
#include "graph/exporter.h"
#include "graph/file.h"
#include "graph/import.h"
#include "graph/onnx.h"

namespace lockstep {
namespace {

constexpr std::string_view kPrefix = "lockstep.";

void add_metadata(onnx::ModelProto& proto, const std::string& key, const std::string& value) {
  auto* entry = proto.add_metadata_props();
  entry->set_key(std::string(kPrefix) + key);
  entry->set_value(value);
}

std::string lines(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : "\n") + item;
  return text;
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> items;
  std::istringstream stream(text);
  for (std::string item; std::getline(stream, item);) items.push_back(item);
  return items;
}

void write_roles(const TrainingModel& model, onnx::ModelProto& proto) {
  add_metadata(proto, "replicas", std::to_string(model.replicas));
  if (!model.bucket_plan.empty()) add_metadata(proto, "buckets", model.bucket_plan);
  for (const State& state : model.states)
    add_metadata(proto, join("state.", name_of(state.kind), ".", state.name), lines(state.values));
  for (auto& [role, items] : {std::pair{"input.", &model.inputs},
                              {"loss.", &model.losses},
                              {"metric.", &model.metrics},
                              {"check.", &model.checks},
                              {"gradient.", &model.gradients}})
    for (const Replicated& item : *items) add_metadata(proto, role + item.name, lines(item.values));
  for (const auto& [key, value] : model.metadata) add_metadata(proto, key, value);
}

void read_roles(const onnx::ModelProto& proto, LoadedModel& loaded) {
  for (const auto& entry : proto.metadata_props()) {
    std::string_view key = entry.key();
    if (!key.starts_with(kPrefix)) continue;
    key.remove_prefix(kPrefix.size());
    auto take = [&](std::string_view role) {
      bool found = key.starts_with(role);
      if (found) key.remove_prefix(role.size());
      return found;
    };
    auto item = [&] { return Replicated{std::string(key), split_lines(entry.value())}; };
    if (key == "replicas") {
      loaded.model.replicas = std::atoi(entry.value().c_str());
    } else if (key == "initialised") {
      loaded.initialised = entry.value() == "true";
    } else if (key == "buckets") {
      loaded.model.bucket_plan = entry.value();
    } else if (take("state.")) {
      auto dot = key.find('.');
      check(dot != key.npos, "metadata '", entry.key(), "' names no state");
      StateKind kind = state_kind_named(key.substr(0, dot));
      key.remove_prefix(dot + 1);
      loaded.model.states.push_back({item(), kind});
    } else if (take("input.")) {
      loaded.model.inputs.push_back(item());
    } else if (take("loss.")) {
      loaded.model.losses.push_back(item());
    } else if (take("metric.")) {
      loaded.model.metrics.push_back(item());
    } else if (take("check.")) {
      loaded.model.checks.push_back(item());
    } else if (take("gradient.")) {
      loaded.model.gradients.push_back(item());
    } else {
      loaded.model.metadata.emplace(key, entry.value());
    }
  }
}

void write_bindings(const std::vector<Binding>& from,
                    google::protobuf::RepeatedPtrField<onnx::StringStringEntryProto>& to) {
  for (const Binding& binding : from) {
    auto* entry = to.Add();
    entry->set_key(binding.state);
    entry->set_value(binding.value);
  }
}

std::vector<Binding> read_bindings(
    const google::protobuf::RepeatedPtrField<onnx::StringStringEntryProto>& from) {
  std::vector<Binding> bindings;
  for (const auto& entry : from) bindings.push_back({entry.key(), entry.value()});
  return bindings;
}

// Every initializer that stands for state, in both graphs.
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

// Writes each distinct content once; 64-byte aligned, so that it can be mapped.
void write_external(const std::vector<onnx::TensorProto*>& tensors, const StateValues* values,
                    const std::string& data_path) {
  const std::string location = std::filesystem::path(data_path).filename().string();
  std::map<std::string, int64_t> offset_of;
  write_file(data_path, [&](const FileSink& sink) {
    int64_t end = 0;
    for (onnx::TensorProto* tensor : tensors) {
      Literal literal = state_value(*tensor, values);
      std::string key(reinterpret_cast<const char*>(literal.bytes().data()),
                      literal.bytes().size());
      auto [known, fresh] = offset_of.emplace(std::move(key), end);
      if (fresh) {
        sink(literal.bytes());
        end += static_cast<int64_t>(literal.bytes().size());
        std::vector<std::byte> padding((64 - end % 64) % 64);
        sink(padding);
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
  });
}

bool uses_own_operators(const TrainingModel& model) {
  for (const Graph* graph : {&model.inference, &model.init, &model.step})
    for (int index = 0; index < graph->node_count(); ++index)
      if (graph->node(index).domain() == kOwnDomain) return true;
  return false;
}

}  // namespace

onnx::ModelProto to_onnx(const TrainingModel& model) {
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
  write_roles(model, proto);

  std::set<std::string> states;
  for (const std::string& name : model.state_values()) states.insert(name);
  export_graph(model.inference, states, *proto.mutable_graph());
  std::set<std::string> in_inference;
  for (const auto& tensor : proto.graph().initializer()) in_inference.insert(tensor.name());
  if (model.step.node_count() == 0) return proto;

  auto* info = proto.add_training_info();
  export_graph(model.init, {}, *info->mutable_initialization());
  export_graph(model.step, states, *info->mutable_algorithm());
  // State that both graphs use is an initializer of the inference graph.
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
        "Not initialised: zeros stand for the state. Lockstep runs the graph "
        "training_info[0].initialization before the first step.");
  std::vector<onnx::TensorProto*> tensors = state_tensors(proto);
  std::size_t bytes = 0;
  for (const auto* tensor : tensors)
    bytes += Literal(static_cast<DType>(tensor->data_type()),
                     Dims(tensor->dims().begin(), tensor->dims().end()))
                 .bytes()
                 .size();
  if (bytes > options.inline_limit) {
    write_external(tensors, options.values, path + ".data");
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
  write_file(path, text);
}

LoadedModel load_model(const OpSet& ops, const std::string& path) {
  const std::string text = read_file(path);
  onnx::ModelProto proto;
  check(proto.ParseFromString(text) && proto.has_graph() && proto.ir_version() > 0, path,
        ": not an ONNX model, or a truncated one (", text.size(), " bytes)");
  LoadedModel loaded{TrainingModel(ops)};
  try {
    check_known_operators(proto, ops);
    loaded.warning = lost_to_optimisation(proto);
    proto = at_least_our_opset(std::move(proto));
    check_known_operators(proto, ops);
    read_roles(proto, loaded);
    std::set<std::string> states;
    for (const std::string& name : loaded.model.state_values()) states.insert(name);
    ImportOptions options{ops,    std::filesystem::path(path).parent_path().string(),
                          states, loaded.initialised ? &loaded.values : nullptr,
                          {},     opset_of(proto)};
    loaded.model.inference = import_graph(proto.graph(), "inference", options);
    for (const auto& tensor : proto.graph().initializer()) {
      options.outer.push_back(&tensor);
      loaded.initializers.push_back(tensor.name());
    }
    if (proto.training_info_size() > 0) {
      const auto& info = proto.training_info(0);
      loaded.model.init = import_graph(info.initialization(), "init", options);
      loaded.model.step = import_graph(info.algorithm(), "step", options);
      loaded.model.initial = read_bindings(info.initialization_binding());
      loaded.model.updates = read_bindings(info.update_binding());
    }
  } catch (const Error& error) {
    std::string message = error.what();
    rethrow_as(error, message.rfind(path, 0) == 0 ? message : path + ": " + message);
  }
  return loaded;
}

Literal load_tensor(const std::string& path) {
  onnx::TensorProto proto;
  check(proto.ParseFromString(read_file(path)), path, ": not a tensor");
  return from_proto(proto, std::filesystem::path(path).parent_path().string(), path);
}

}  // namespace lockstep
