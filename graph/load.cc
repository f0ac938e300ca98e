// SPDX-License-Identifier: Apache-2.0
// Loading models from untrusted bytes.
#include <filesystem>
#include <limits>
#include <set>

#include "graph/check_model.h"
#include "graph/check_roles.h"
#include "graph/exporter.h"
#include "graph/external_files.h"
#include "graph/file.h"
#include "graph/import.h"
#include "graph/initializer_kinds.h"
#include "graph/limits.h"
#include "graph/load.h"
#include "graph/local_functions.h"
#include "graph/onnx.h"
#include "graph/opset/older_opsets.h"
#include "graph/parsed_model.h"
#include "graph/parsed_size.h"
#include "graph/random_stream.h"
#include "graph/roles.h"
#include "lockstep/model_files.h"

namespace lockstep {
namespace {

// Throws if the parsed messages need more than 512 MiB plus twice the file. The graph built from
// them needs about as much again.
void check_parsed_size(const std::string& text, const google::protobuf::Descriptor& type,
                       const std::string& path) {
  constexpr std::size_t kAlways = std::size_t{1} << 29;
  check(text.size() <= std::numeric_limits<int>::max(), path, ": has ", text_of_bytes(text.size()),
        "; a protobuf message has at most 2 GiB, larger models need external data");
  const std::size_t parsed = parsed_size(text, type);
  check(parsed <= kAlways + 2 * text.size(), path, ": its ", text_of_bytes(text.size()),
        " would take ", text_of_bytes(parsed), " of memory, more than a model of that size needs");
}

void add_locations(const onnx::TensorProto& tensor, std::set<std::string>& locations) {
  for (const auto& entry : tensor.external_data())
    if (entry.key() == "location") locations.insert(entry.value());
}

void add_locations(const onnx::GraphProto& graph, std::set<std::string>& locations) {
  for (const auto& tensor : graph.initializer()) add_locations(tensor, locations);
  for (const auto& node : graph.node())
    for (const auto& attribute : node.attribute()) {
      add_locations(attribute.t(), locations);
      if (attribute.has_g()) add_locations(attribute.g(), locations);
    }
}

std::vector<Binding> read_bindings(
    const google::protobuf::RepeatedPtrField<onnx::StringStringEntryProto>& from) {
  std::vector<Binding> bindings;
  for (const auto& entry : from) bindings.push_back({entry.key(), entry.value()});
  return bindings;
}

}  // namespace

onnx::ModelProto parsed_model(const std::string& path) {
  const std::string text = read_file(path);
  check_parsed_size(text, *onnx::ModelProto::descriptor(), path);
  onnx::ModelProto proto;
  check(proto.ParseFromString(text) && proto.has_graph() && proto.ir_version() > 0, path,
        ": not an ONNX model, or a truncated one (", text.size(), " bytes)");
  return proto;
}

std::vector<std::string> external_files(const std::string& path) {
  const onnx::ModelProto proto = parsed_model(path);
  std::set<std::string> locations;
  add_locations(proto.graph(), locations);
  for (const auto& info : proto.training_info()) {
    add_locations(info.initialization(), locations);
    add_locations(info.algorithm(), locations);
  }
  std::vector<std::string> files;
  for (const std::string& location : locations)
    files.push_back((std::filesystem::path(path).parent_path() / location).string());
  return files;
}

std::vector<std::string> input_names(const std::string& path) {
  const onnx::ModelProto proto = parsed_model(path);
  std::vector<std::string> names;
  for (const auto& input : proto.graph().input()) names.push_back(input.name());
  return names;
}

LoadedModel load_model(const OpSet& ops, const std::string& path) {
  return load_model(ops, path, Folder{});
}

LoadedModel load_model(const OpSet& ops, const std::string& path, const Folder& folder,
                       const std::map<std::string, Literal>& constants) {
  onnx::ModelProto proto = parsed_model(path);
  for (const auto& [name, value] : constants) {
    onnx::TensorProto& tensor = *proto.mutable_graph()->add_initializer();
    to_proto(value, tensor);
    tensor.set_name(name);
  }
  LoadedModel loaded{TrainingModel(ops)};
  try {
    const DataPlace place = data_place_of(path);
    drop_local_functions(proto, ops);
    check_known_operators(proto, ops);
    check_model(proto, ops, place);
    loaded.warning = lost_to_optimisation(proto);
    loaded.kinds = kinds_of_initializers(proto);
    proto = at_least_our_opset(std::move(proto), place);
    check_known_operators(proto, ops);
    read_roles(proto, loaded);
    std::set<std::string> states;
    for (const std::string& name : loaded.model.state_values()) states.insert(name);
    ImportOptions options{
        ops, place, states, loaded.initialised ? &loaded.values : nullptr, {}, opset_of(proto)};
    options.folder = folder;
    std::vector<std::string> inner;
    options.inner = &inner;
    loaded.model.inference = import_graph(*proto.mutable_graph(), "inference", options);
    fix_random_streams(loaded.model.inference);
    for (const auto& tensor : proto.graph().initializer()) {
      options.outer.push_back(&tensor);
      loaded.initializers.push_back(tensor.name());
    }
    loaded.initializers.insert(loaded.initializers.end(), inner.begin(), inner.end());
    read_kinds(loaded.model.metadata, loaded.initializers, loaded.kinds);
    if (proto.training_info_size() > 0) {
      auto& info = *proto.mutable_training_info(0);
      loaded.model.init = import_graph(*info.mutable_initialization(), "init", options);
      loaded.model.step = import_graph(*info.mutable_algorithm(), "step", options);
      loaded.model.initial = read_bindings(info.initialization_binding());
      loaded.model.updates = read_bindings(info.update_binding());
    }
    check_roles(loaded.model);
  } catch (const Error& error) {
    rethrow_as(error, ErrorPlace{path}, ": ", error.what());
  }
  return loaded;
}

Literal load_tensor(const std::string& path) {
  const std::string text = read_file(path);
  check_parsed_size(text, *onnx::TensorProto::descriptor(), path);
  onnx::TensorProto proto;
  check(proto.ParseFromString(text), path, ": not a tensor");
  return from_proto(proto, data_place_of(path), path);
}

}  // namespace lockstep
