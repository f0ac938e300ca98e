// SPDX-License-Identifier: Apache-2.0
#include "graph/export.h"

#include "graph/graph_members.h"
#include "graph/onnx.h"

namespace lockstep {
namespace {

void write_info(const Graph& graph, Value value, onnx::ValueInfoProto& proto) {
  proto.set_name(graph.name(value));
  to_proto(graph.type(value), *proto.mutable_type());
}

void write_state(const Graph& graph, Value value, onnx::TensorProto& tensor) {
  tensor.set_name(graph.name(value));
  tensor.set_data_type(static_cast<int>(graph.dtype(value)));
  for (int64_t size : to_dims(graph.shape(value))) tensor.add_dims(size);
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
}

}  // namespace

void export_graph(const Graph& graph, const std::set<std::string>& states,
                  onnx::GraphProto& proto) {
  proto.set_name(graph.name());
  for (Value value : graph.inputs()) {
    if (states.count(graph.name(value)))
      write_state(graph, value, *proto.add_initializer());
    else
      write_info(graph, value, *proto.add_input());
  }
  for (int index = 0; index < graph.node_count(); ++index)
    *proto.add_node() = proto_of(graph.node(index));
  for (Value value : graph.outputs()) write_info(graph, value, *proto.add_output());
  for (int id = 0; id < graph.value_count(); ++id) {
    Value value{id};
    if (const Literal* literal = graph.literal(value)) {
      auto* tensor = proto.add_initializer();
      tensor->set_name(graph.name(value));
      to_proto(*literal, *tensor);
    } else if (graph.producer(value)) {
      write_info(graph, value, *proto.add_value_info());
    }
  }
}

}  // namespace lockstep
