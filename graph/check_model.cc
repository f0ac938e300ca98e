// SPDX-License-Identifier: Apache-2.0
#include "graph/check_model.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "graph/flow/importer.h"
#include "graph/onnx.h"
#include "graph/order.h"
#include "graph/printable.h"
#include "lockstep/op.h"

namespace lockstep {
namespace {

using onnx::AttributeProto;

// "conv1 (Conv)"
std::string described(const onnx::NodeProto& node) {
  std::string name = node.name();
  for (const std::string& output : node.output())
    if (name.empty()) name = output;
  return printable(name + " (" + node.op_type() + ")");
}

void check_attribute_type(const AttributeProto& attribute) {
  check(AttributeProto::AttributeType_IsValid(attribute.type()) &&
            attribute.type() != AttributeProto::UNDEFINED,
        "has no type");
  check(attribute.ref_attr_name().empty(), "refers to '", attribute.ref_attr_name(),
        "' of a function, but is not in a function");
  for (auto type : {AttributeProto::GRAPHS, AttributeProto::SPARSE_TENSOR,
                    AttributeProto::SPARSE_TENSORS, AttributeProto::TYPE_PROTOS})
    supported(attribute.type() != type, "has the unsupported type ",
              AttributeProto::AttributeType_Name(type));
  check(attribute.type() != AttributeProto::TENSOR || attribute.has_t(), "holds no tensor");
  check(attribute.type() != AttributeProto::GRAPH || attribute.has_g(), "holds no graph");
}

// Checks attributes that shape laws divide by or multiply.
void check_window(const AttributeProto& attribute) {
  const std::string& name = attribute.name();
  constexpr int64_t kMost = std::numeric_limits<int>::max();
  if (name == "strides" || name == "dilations" || name == "kernel_shape")
    for (int64_t size : attribute.ints())
      check(size > 0 && size <= kMost, "should be positive, one is ", size);
  if (name == "group" || name == "blocksize")
    check(attribute.i() > 0 && attribute.i() <= kMost, "is ", attribute.i(), ", should be 1 to ",
          kMost);
  if (name == "pads" || name == "output_padding" || name == "output_shape")
    for (int64_t size : attribute.ints())
      check(size >= -kMost && size <= kMost, "is ", size, " at one end, should be at most ", kMost);
}

// Few attributes are compared with each other, which is faster than a set.
void check_attribute_names(const onnx::NodeProto& node) {
  constexpr int kFew = 16;
  const auto& attributes = node.attribute();
  const auto refuse = [](const std::string& name) { fail("attribute '", name, "' occurs twice"); };
  if (attributes.size() <= kFew) {
    for (int i = 1; i < attributes.size(); ++i)
      for (int k = 0; k < i; ++k)
        if (attributes[k].name() == attributes[i].name()) refuse(attributes[i].name());
    return;
  }
  Names names;
  for (const AttributeProto& attribute : attributes)
    if (!names.insert(attribute.name()).second) refuse(attribute.name());
}

class ModelCheck {
 public:
  explicit ModelCheck(const DataPlace& place) : place_(place) {}

  void check_graph(onnx::GraphProto& graph) const {
    Names names;
    for (const auto& tensor : graph.initializer()) {
      check(!tensor.name().empty(), "an initializer has no name");
      check(names.insert(tensor.name()).second, "two initializers are called '", tensor.name(),
            "'");
      check_tensor(tensor, place_, tensor.name(), /*reads=*/false);
    }
    supported(
        graph.sparse_initializer_size() == 0, "'",
        graph.sparse_initializer_size() > 0 ? graph.sparse_initializer(0).values().name() : "",
        "' is a sparse initializer, which is not supported");
    names.clear();
    for (const auto& input : graph.input()) {
      check(!input.name().empty(), "an input has no name");
      check(names.insert(input.name()).second, "two inputs are called '", input.name(), "'");
    }
    for (auto* list : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()})
      for (auto& info : *list) check_type(info);
    for (auto& node : *graph.mutable_node()) check_node(node);
  }

 private:
  // Normalises an unknown dimension: -1 is removed.
  static void check_type(onnx::ValueInfoProto& info) {
    if (!info.type().has_tensor_type() || !info.type().tensor_type().has_shape()) return;
    Dims known;
    for (auto& dim : *info.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim()) {
      if (!dim.has_dim_value()) continue;
      check(dim.dim_value() >= -1, "'", info.name(), "' has a dimension of ", dim.dim_value());
      if (dim.dim_value() < 0)
        dim.clear_value();
      else
        known.push_back(dim.dim_value());
    }
    try {
      element_count(known);
    } catch (const Error& error) {
      fail("'", info.name(), "': ", error.what());
    }
  }

  // Builds texts only on errors: a graph may have a million nodes.
  void check_node(onnx::NodeProto& node) const try {
    check(!node.op_type().empty(), "has no operator");
    bool makes_something = false;
    for (const std::string& output : node.output())
      makes_something = makes_something || !output.empty();
    check(makes_something, "has no outputs");
    check_attribute_names(node);
    for (auto& attribute : *node.mutable_attribute()) {
      const bool fits = attribute.type() == AttributeProto::GRAPH ? is_control_flow(node.op_type())
                        : attribute.type() == AttributeProto::TYPE_PROTO
                            ? node.op_type() == "Optional"
                            : true;
      supported(fits, "attribute '", attribute.name(), "' has the unsupported type ",
                AttributeProto::AttributeType_Name(attribute.type()));
      check_attribute(attribute);
    }
  } catch (const Error& error) {
    rethrow_as(error, described(node) + ": " + error.what());
  }

  void check_attribute(AttributeProto& attribute) const try {
    check_attribute_type(attribute);
    check_window(attribute);
    if (attribute.type() == AttributeProto::TENSOR) {
      check_tensor(attribute.t(), place_, "tensor");
      embed(*attribute.mutable_t(), place_, "tensor");
    }
    for (const auto& tensor : attribute.tensors()) check_tensor(tensor, place_, "tensor");
    if (attribute.type() == AttributeProto::GRAPH) check_graph(*attribute.mutable_g());
  } catch (const Error& error) {
    rethrow_as(error, join("attribute '", attribute.name(), "': ", error.what()));
  }

  const DataPlace& place_;
};

// Sorts the nodes and checks that every output is computed. ONNX's converter relies on both.
void put_in_order(onnx::GraphProto& graph) {
  Names given, wanted;
  for (const auto& tensor : graph.initializer()) given.insert(tensor.name());
  for (const auto& input : graph.input()) given.insert(input.name());
  const std::vector<int> order = sorted_nodes(graph, given);
  for (const auto& output : graph.output())
    if (!given.count(output.name())) wanted.insert(output.name());
  for (const auto& node : graph.node())
    for (const std::string& name : node.output())
      if (!name.empty()) wanted.erase(name);
  for (const std::string& name : wanted) fail("output '", name, "' is not computed by any node");
  if (std::is_sorted(order.begin(), order.end())) return;
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  nodes.Reserve(graph.node_size());
  for (int index : order) nodes.Add()->Swap(graph.mutable_node(index));
  graph.mutable_node()->Swap(&nodes);
}

}  // namespace

void check_model(onnx::ModelProto& proto, const OpSet& ops, const DataPlace& place) {
  for (const auto& import : proto.opset_import())
    check(import.version() > 0, "the file is of opset ", import.version(), " of '", import.domain(),
          "'; the first is 1");
  for (const auto& function : proto.functions())
    supported(!ops.find(function.domain(), function.name()), "the file defines a function '",
              function.name(), "' that has the name of an operator");
  proto.clear_functions();
  const ModelCheck model(place);
  model.check_graph(*proto.mutable_graph());
  put_in_order(*proto.mutable_graph());
  for (auto& info : *proto.mutable_training_info()) {
    model.check_graph(*info.mutable_initialization());
    model.check_graph(*info.mutable_algorithm());
  }
}

}  // namespace lockstep
