// SPDX-License-Identifier: Apache-2.0
// Common includes and helpers for operator records.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lockstep/graph.h"
#include "lockstep/op.h"
#include "operators/kit/data_propagation.h"
#include "operators/kit/shape_checks.h"

namespace lockstep {

// A name for the gradient of operand `i` of the node being differentiated.
inline Site gradient_site(const GradientRequest& request, std::size_t i) {
  return Site(request.node.graph().name(request.x(i)) + "_grad");
}

// A scalar constant of `like`'s element type. Shares an existing constant of equal name and value.
Value scalar_like(Graph& graph, Value like, double value, const std::string& name);

// Constants, shared by all nodes that need an equal constant: a float, an int64, a vector of equal
// floats.
Value shared_number(Graph& graph, double value);
Value shared_integer(Graph& graph, int64_t value);
Value shared_vector(Graph& graph, int64_t size, float value);

// Sums `dy` over the axes along which `like` was broadcast; returns `dy` if there are no such axes.
Value sum_to(Graph& graph, Value dy, Value like, const Site& site);

// Converts ONNX's axes (negative axes count from the end) to 0..rank-1; throws if an axis is out of
// range.
std::vector<int64_t> normal_axes(const std::vector<int64_t>& axes, std::size_t rank);

// The shape that operands of the two shapes broadcast to; throws if they do not broadcast.
Shape broadcast_shape(const Shape& a, const Shape& b);

// The law of gradients that receive the shape of the result as operand 1.
void shape_from_operand(Inference& inference);

// Marks an operator that all-reduce algorithms use.
inline Op in_transit(Op op) {
  op.transit = true;
  return op;
}

// Marks an operator that computes in 16-bit floats if its operands are 16-bit floats.
inline Op following_narrow(Op op) {
  op.narrow.when = Narrow::follows;
  return op;
}

// The law of operators that give every output the type and shape of input 0.
void same_as_first(Inference& inference);

}  // namespace lockstep
