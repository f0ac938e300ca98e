// SPDX-License-Identifier: Apache-2.0
#include "operators/kit/operator_helpers.h"

#include <algorithm>

#include "lockstep/operators.h"
#include "operators/fill/fill.h"

namespace lockstep {

namespace {

// Shares a constant only if its value is equal: names contain rounded numbers.
Value shared_constant(Graph& graph, const std::string& name, Literal literal) {
  const Value made = graph.find(graph.scoped(name));
  if (made && graph.literal(made) && *graph.literal(made) == literal) return made;
  return graph.constant(name, std::move(literal));
}

}  // namespace

Value scalar_like(Graph& graph, Value like, double value, const std::string& name) {
  const DType dtype = graph.dtype(like);
  check(is_floating(dtype), "gradients are not supported for ", dtype, " ('", graph.name(like),
        "')");
  return shared_constant(graph, name, Literal::rounded_scalar(dtype, value));
}

Value shared_number(Graph& graph, double value) {
  const auto number = static_cast<float>(value);
  return shared_constant(graph, join("number_", number), Literal::scalar(number));
}

Value shared_integer(Graph& graph, int64_t value) {
  return shared_constant(graph, join("integer_", value), Literal::scalar(value));
}

Value shared_vector(Graph& graph, int64_t size, float value) {
  const std::string name = join("all_", value, "_of_", size);
  if (const Value made = graph.find(graph.scoped(name))) return made;
  // A node, which plans fold. An initializer would be in the file once for every replica.
  return constant_fill(graph, {size}, value, name);
}

Value sum_to(Graph& graph, Value dy, Value like, const Site& site) {
  const Shape from = graph.shape(dy);
  const Shape to = graph.shape(like);
  const std::size_t extra = from.size() - to.size();
  std::vector<int64_t> leading, inner;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (i < extra)
      leading.push_back(static_cast<int64_t>(i));
    else if (to[i - extra].known() && to[i - extra].size() == 1 && !(from[i] == Dim(1)))
      inner.push_back(static_cast<int64_t>(i));
  }
  if (!inner.empty()) dy = reduce_sum(graph, dy, inner, true, site);
  if (!leading.empty()) dy = reduce_sum(graph, dy, leading, false, site);
  return dy;
}

std::vector<int64_t> normal_axes(const std::vector<int64_t>& axes, std::size_t rank) {
  std::vector<int64_t> normal;
  const int64_t n = static_cast<int64_t>(rank);
  for (int64_t axis : axes) {
    check(axis >= -n && axis < n, "axis ", axis, " does not exist in ", n, " dimensions");
    normal.push_back(axis < 0 ? axis + n : axis);
  }
  return normal;
}

Shape broadcast_shape(const Shape& a, const Shape& b) {
  Shape shape(std::max(a.size(), b.size()), Dim(1));
  for (std::size_t back = 0; back < shape.size(); ++back) {
    const Dim from_a = back < a.size() ? a[a.size() - 1 - back] : Dim(1);
    const Dim from_b = back < b.size() ? b[b.size() - 1 - back] : Dim(1);
    check(from_a == from_b || from_a == Dim(1) || from_b == Dim(1) || !from_a.known() ||
              !from_b.known(),
          "shapes ", a, " and ", b, " do not broadcast");
    // A symbol that meets a number other than 1 must be that number or 1.
    const bool take_b =
        from_a == Dim(1) || (!from_a.known() && from_b.known() && !(from_b == Dim(1)));
    shape[shape.size() - 1 - back] = take_b ? from_b : from_a;
  }
  return shape;
}

void shape_from_operand(Inference& inference) {
  auto shape = content_of(inference, 1);
  inference.outputs[0].dtype = inference.input(0).dtype;
  inference.outputs[0].ranked = shape.has_value();
  if (shape) inference.outputs[0].shape = *shape;
}

void same_as_first(Inference& inference) {
  for (TensorType& output : inference.outputs) output = inference.input(0);
}

}  // namespace lockstep
