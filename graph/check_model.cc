#include "graph/check_model.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "graph/onnx.h"
#include "graph/op.h"
#include "graph/order.h"

namespace lockstep {
namespace {

using onnx::AttributeProto;

// "conv1 (Conv)"
std::string described(const onnx::NodeProto& node) {
  std::string name = node.name();
  for (const std::string& output : node.output())
    if (name.empty()) name = output;
  return name + " (" + node.op_type() + ")";
}

void check_attribute_type(const AttributeProto& attribute, const std::string& what) {
  check(AttributeProto::AttributeType_IsValid(attribute.type()) &&
            attribute.type() != AttributeProto::UNDEFINED,
        what, ": has no type");
  check(attribute.ref_attr_name().empty(), what, ": stands for '", attribute.ref_attr_name(),
        "' of a function, but is in none");
  for (auto type :
       {AttributeProto::GRAPH, AttributeProto::GRAPHS, AttributeProto::SPARSE_TENSOR,
        AttributeProto::SPARSE_TENSORS, AttributeProto::TYPE_PROTO, AttributeProto::TYPE_PROTOS})
    supported(attribute.type() != type, what, ": is a ", AttributeProto::AttributeType_Name(type));
  check(attribute.type() != AttributeProto::TENSOR || attribute.has_t(), what, ": holds no tensor");
}

// Shape laws divide by these, and multiply them.
void check_window(const AttributeProto& attribute, const std::string& what) {
  const std::string& name = attribute.name();
  constexpr int64_t kMost = std::numeric_limits<int>::max();
  if (name == "strides" || name == "dilations" || name == "kernel_shape")
    for (int64_t size : attribute.ints())
      check(size > 0 && size <= kMost, what, ": should be positive, one is ", size);
  if (name == "group" || name == "blocksize")
    check(attribute.i() > 0 && attribute.i() <= kMost, what, ": is ", attribute.i(),
          ", should be 1 to ", kMost);
  if (name == "pads" || name == "output_padding" || name == "output_shape")
    for (int64_t size : attribute.ints())
      check(size >= -kMost && size <= kMost, what, ": is ", size, " at one end, should be at most ",
            kMost);
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
      check_tensor(tensor, place_, tensor.name());
    }
    supported(
        graph.sparse_initializer_size() == 0, "'",
        graph.sparse_initializer_size() > 0 ? graph.sparse_initializer(0).values().name() : "",
        "' is a sparse initializer");
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
  // An open dimension that is written as -1 becomes one that is left out.
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

  void check_node(onnx::NodeProto& node) const {
    const std::string what = described(node);
    check(!node.op_type().empty(), "node '", node.name(), "' has no operator");
    bool makes_something = false;
    for (const std::string& output : node.output())
      makes_something = makes_something || !output.empty();
    check(makes_something, what, ": has no outputs");
    Names names;
    for (auto& attribute : *node.mutable_attribute()) {
      const std::string of = join(what, " attribute '", attribute.name(), "'");
      check(names.insert(attribute.name()).second, of, ": is there twice");
      check_attribute_type(attribute, of);
      check_window(attribute, of);
      if (attribute.type() == AttributeProto::TENSOR) {
        check_tensor(attribute.t(), place_, of);
        embed(*attribute.mutable_t(), place_, of);
      }
      for (const auto& tensor : attribute.tensors()) check_tensor(tensor, place_, of);
    }
  }

  const DataPlace& place_;
};

// ONNX's converter wants nodes in order, and a maker for every output.
void put_in_order(onnx::GraphProto& graph) {
  Names given;
  for (const auto& tensor : graph.initializer()) given.insert(tensor.name());
  for (const auto& input : graph.input()) given.insert(input.name());
  const std::vector<int> order = sorted_nodes(graph, given);
  for (const auto& node : graph.node()) given.insert(node.output().begin(), node.output().end());
  for (const auto& output : graph.output())
    check(!output.name().empty() && given.count(output.name()), "output '", output.name(),
          "' is made by no node");
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
    supported(!ops.find(function.domain(), function.name()), "the file has a function of its own '",
              function.name(), "' in place of the operator");
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
