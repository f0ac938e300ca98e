// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/retype.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "graph/graph_members.h"
#include "graph/onnx.h"

namespace lockstep {
namespace {

// A mask of -1e300 should stay a number.
float nearest_float(double value) {
  constexpr double kMost = std::numeric_limits<float>::max();
  return static_cast<float>(std::isfinite(value) ? std::clamp(value, -kMost, kMost) : value);
}

void retype(onnx::NodeProto& node, DType type) {
  const int from = static_cast<int>(type);
  for (auto& attribute : *node.mutable_attribute()) {
    // Names of attributes that hold an element type.
    if ((attribute.name() == "to" || attribute.name() == "dtype") && attribute.i() == from)
      attribute.set_i(static_cast<int>(DType::float32));
    if (attribute.type() != onnx::AttributeProto::TENSOR || attribute.t().data_type() != from)
      continue;
    const Literal literal = in_float32(from_proto(attribute.t(), {}, attribute.name()));
    attribute.clear_t();
    to_proto(literal, *attribute.mutable_t());
  }
}

}  // namespace

Literal in_float32(const Literal& literal) {
  std::vector<float> values;
  with_floating(literal.dtype(), [&]<class T>() {
    for (const T value : literal.values<T>())
      if constexpr (std::is_same_v<T, double>)
        values.push_back(nearest_float(value));
      else
        values.push_back(static_cast<float>(value));
    return 0;
  });
  return Literal::of<float>(values, literal.dims());
}

Graph in_float32(const Graph& graph, const std::vector<DType>& types) {
  const auto other = [&](DType type) {
    return std::find(types.begin(), types.end(), type) != types.end();
  };
  Graph result(graph.ops(), graph.name());
  for (Value input : graph.inputs()) {
    TensorType changed = graph.type(input);
    if (other(changed.dtype)) changed.dtype = DType::float32;
    result.input(graph.name(input), changed, graph.origin(input));
  }
  for (int id = 0; id < graph.value_count(); ++id)
    if (const Literal* literal = graph.literal({id}); literal && !graph.producer({id}))
      result.constant(graph.name({id}), other(literal->dtype()) ? in_float32(*literal) : *literal);
  for (int index = 0; index < graph.node_count(); ++index) {
    onnx::NodeProto node = proto_of(graph.node(index));
    for (const DType type : types) retype(node, type);
    adopt(result, std::move(node));
  }
  for (Value output : graph.outputs()) result.output(result.at(graph.name(output)));
  return result;
}

OtherFloats floats_to_widen(const LoadedModel& file) {
  const Graph& graph = file.model.inference;
  std::set<DType> found;
  for (const std::string& name : file.initializers)
    if (const Value value = graph.find(name); value && is_floating(graph.dtype(value)))
      found.insert(graph.dtype(value));
  OtherFloats other;
  other.partly = found.erase(DType::float32) > 0;
  for (const DType type : found)
    if (is_narrow(type) || !other.partly) other.types.push_back(type);
  return other;
}

}  // namespace lockstep
