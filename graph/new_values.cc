// SPDX-License-Identifier: Apache-2.0
#include "graph/new_values.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "graph/onnx.h"
#include "graph/parsed_model.h"
#include "graph/printable.h"
#include "graph/staged_file.h"
#include "graph/write_place.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr int64_t kAlignment = 64;  // of a tensor's data, for mapping

template <class Use>
void for_initializers(onnx::GraphProto& graph, const Use& use);

// Calls `use` for the initializers of the node's branches and bodies.
template <class Use>
void for_inner_initializers(onnx::NodeProto& node, const Use& use) {
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) for_initializers(*attribute.mutable_g(), use);
    for (auto& graph : *attribute.mutable_graphs()) for_initializers(graph, use);
  }
}

template <class Use>
void for_initializers(onnx::GraphProto& graph, const Use& use) {
  for (auto& tensor : *graph.mutable_initializer()) use(tensor);
  for (auto& node : *graph.mutable_node()) for_inner_initializers(node, use);
}

// The initializers of a network by name.
class NamedInitializers {
 public:
  NamedInitializers(onnx::ModelProto& proto, std::string path) : path_(std::move(path)) {
    for (auto& tensor : *proto.mutable_graph()->mutable_initializer())
      outer_.emplace(tensor.name(), &tensor);
    for (auto& node : *proto.mutable_graph()->mutable_node())
      for_inner_initializers(node, [&](auto& tensor) { inner_.emplace(tensor.name(), &tensor); });
  }

  // Throws unless the name leads to one initializer, of this shape.
  onnx::TensorProto& at(const std::string& name, const Dims& wanted) const {
    onnx::TensorProto& tensor = find(name);
    const Dims dims(tensor.dims().begin(), tensor.dims().end());
    check(wanted == dims, path_, ": '", printable(name), "' has the shape ", dims,
          " in the file, but its new value has ", wanted);
    return tensor;
  }

 private:
  onnx::TensorProto& find(const std::string& name) const {
    if (const auto found = outer_.find(name); found != outer_.end()) return *found->second;
    const auto count = inner_.count(name);
    check(count == 1, path_, ": the new value of '", printable(name),
          "' has no place in the file: ",
          count == 0 ? std::string("no initializer has this name")
                     : join(count, " branches or bodies have an initializer of this name"));
    return *inner_.find(name)->second;
  }

  std::string path_;
  std::map<std::string, onnx::TensorProto*> outer_;
  std::multimap<std::string, onnx::TensorProto*> inner_;  // of branches and bodies
};

bool is_external(const onnx::TensorProto& tensor) {
  return tensor.data_location() == onnx::TensorProto::EXTERNAL;
}

bool overflows(const Literal& value) {
  const std::span<const float> values = value.values<float>();
  return std::any_of(values.begin(), values.end(), [](float number) {
    return std::isfinite(number) && std::isinf(static_cast<float>(Half(number)));
  });
}

// Keeps name, type, shape and place of the tensor.
void set_value(onnx::TensorProto& tensor, const Literal& value, const std::string& path) {
  const Literal rounded = Literal::rounded<float>(static_cast<DType>(tensor.data_type()),
                                                  value.values<float>(), value.dims());
  check(static_cast<DType>(tensor.data_type()) != DType::float16 || !overflows(value), path, ": '",
        printable(tensor.name()), "' is float16, and some new values are beyond 65504");
  tensor.clear_float_data();
  tensor.clear_double_data();
  tensor.clear_int32_data();
  tensor.clear_int64_data();
  tensor.clear_uint64_data();
  tensor.set_raw_data(rounded.bytes().data(), rounded.bytes().size());
}

// The file beside a model that holds the data of tensors.
class DataFile {
 public:
  explicit DataFile(const std::string& path)
      : location_(std::filesystem::path(path).filename().string()), file_(path) {}

  // Moves the tensor's bytes into the file.
  void take(onnx::TensorProto& tensor) {
    const std::unique_ptr<std::string> bytes(tensor.release_raw_data());
    const std::string_view data = bytes ? std::string_view(*bytes) : std::string_view();
    const int64_t offset = end_;
    append(data);
    append(std::string(static_cast<std::size_t>((kAlignment - end_ % kAlignment) % kAlignment), 0));
    tensor.clear_external_data();
    for (const auto& [key, value] : {std::pair{"location", location_},
                                     {"offset", std::to_string(offset)},
                                     {"length", std::to_string(data.size())}}) {
      auto* entry = tensor.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  }
  void sync() { file_.sync(); }
  void replace() { file_.replace(); }

 private:
  void append(std::string_view bytes) {
    file_.append(std::as_bytes(std::span(bytes)));
    end_ += static_cast<int64_t>(bytes.size());
  }

  std::string location_;
  StagedFile file_;
  int64_t end_ = 0;
};

// Tensors with data beside the file, in all graphs.
std::vector<onnx::TensorProto*> external_tensors(onnx::ModelProto& proto) {
  std::vector<onnx::TensorProto*> tensors;
  const auto add = [&](onnx::TensorProto& tensor) {
    if (is_external(tensor)) tensors.push_back(&tensor);
  };
  for_initializers(*proto.mutable_graph(), add);
  for (auto& info : *proto.mutable_training_info()) {
    for_initializers(*info.mutable_initialization(), add);
    for_initializers(*info.mutable_algorithm(), add);
  }
  return tensors;
}

}  // namespace

void check_initializers(const std::string& path, const std::map<std::string, Dims>& shapes) {
  onnx::ModelProto proto = parsed_model(path);
  const NamedInitializers initializers(proto, path);
  for (const auto& [name, dims] : shapes) initializers.at(name, dims);
}

void save_with_values(const std::string& from, const StateValues& values, const std::string& to) {
  onnx::ModelProto proto = parsed_model(from);
  const NamedInitializers initializers(proto, from);
  const std::vector<onnx::TensorProto*> external = external_tensors(proto);
  std::map<onnx::TensorProto*, const Literal*> renewed;
  for (const auto& [name, value] : values)
    renewed.emplace(&initializers.at(name, value.dims()), &value);
  const std::string beside = to + ".data";
  if (!external.empty()) check_places_differ(to, beside);

  StagedFile file(to);
  std::optional<DataFile> data;
  if (!external.empty()) data.emplace(beside);
  const DataPlace place = data_place_of(from);
  // One tensor after the other, since all of them may not fit in memory twice.
  for (onnx::TensorProto* tensor : external) {
    if (const auto found = renewed.find(tensor); found != renewed.end()) {
      set_value(*tensor, *found->second, from);
      renewed.erase(found);
    } else {
      embed(*tensor, place, tensor->name());
    }
    data->take(*tensor);
  }
  for (const auto& [tensor, value] : renewed) set_value(*tensor, *value, from);
  std::string text;
  check(proto.SerializeToString(&text), to, ": the model is larger than protobuf can write");
  file.append(std::as_bytes(std::span(text)));
  if (data) data->sync();
  file.sync();
  if (data) data->replace();
  file.replace();
}

}  // namespace lockstep
