// SPDX-License-Identifier: Apache-2.0
// Helpers for bodies (Op::body), which express Lockstep's operators by ONNX's. A body's nodes are
// named after their operators, in a scope named after the node.
#pragma once

#include "lockstep/graph.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {

inline Value standard(Graph& graph, std::string_view type, std::vector<Value> operands,
                      Attributes attributes = {}) {
  return graph.add_value(
      {.type = type, .inputs = std::move(operands), .attributes = std::move(attributes)}, {});
}

inline Value where(Graph& graph, Value condition, Value then, Value otherwise) {
  return standard(graph, "Where", {condition, then, otherwise});
}

// A dimension that the body's nodes depend on; throws if its size is not known.
inline int64_t known_size(const Graph& graph, Value x, std::size_t axis) {
  const Shape& shape = graph.shape(x);
  check(shape[axis].known(), "'", graph.name(x), "' has shape ", shape, "; its dimension ", axis,
        " must be known");
  return shape[axis].size();
}

// The size of an axis as a scalar: a constant if the size is known.
inline Value size_of_axis(Graph& graph, Value x, int64_t axis) {
  const Dim& size = graph.shape(x)[axis];
  if (size.known()) return shared_integer(graph, size.size());
  return standard(graph, "Gather", {standard(graph, "Shape", {x}), shared_integer(graph, axis)});
}

}  // namespace lockstep
