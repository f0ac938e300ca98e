// SPDX-License-Identifier: Apache-2.0
// Common includes for operator descriptions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/op.h"
#include "operators/kit/content.h"
#include "operators/kit/demands.h"

namespace lockstep {

// A name for the gradient of operand `i` of the node being differentiated.
inline Site gradient_site(const GradientRequest& request, std::size_t i) {
  return Site(request.node.graph().name(request.x(i)) + "_grad");
}

// A scalar constant of `like`'s element type; an equal one of that name is shared.
Value scalar_like(Graph& graph, Value like, double value, const std::string& name);

// Constants, which nodes that ask for the same one share: a float, an int64, a vector of equal
// floats.
Value shared_number(Graph& graph, double value);
Value shared_integer(Graph& graph, int64_t value);
Value shared_vector(Graph& graph, int64_t size, float value);

// Sums `dy` over the axes along which `like` was broadcast; returns `dy` itself if there are none.
Value sum_to(Graph& graph, Value dy, Value like, const Site& site);

// Converts ONNX's axes (negative from the end) to 0..rank-1; throws for one out of range.
std::vector<int64_t> normal_axes(const std::vector<int64_t>& axes, std::size_t rank);

// The shape that operands of these shapes broadcast to; throws if they do not.
Shape broadcast_shape(const Shape& a, const Shape& b);

// The law of gradients whose operand 1 is the shape of the result.
void shape_from_operand(Inference& inference);

// An operator used by all-reduce algorithms.
inline Op in_transit(Op op) {
  op.transit = true;
  return op;
}

// An operator that computes in 16-bit floats if its operands are.
inline Op following_narrow(Op op) {
  op.narrow.when = Narrow::follows;
  return op;
}

// The law of operators whose outputs all have input 0's type and shape.
void same_as_first(Inference& inference);

}  // namespace lockstep
