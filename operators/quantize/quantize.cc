// SPDX-License-Identifier: Apache-2.0
// A rounded value passes its gradient straight through, as PyTorch's fake quantisation does; a
// value outside the range of the integers has gradient zero. Between the two operators, the
// gradient of an integer tensor is a float tensor. Scales have gradients, too, with rounding as the
// identity.
#include "operators/quantize/quantize.h"

#include <limits>

#include "lockstep/operators.h"
#include "operators/kit/axis_loop.h"
#include "operators/kit/flops.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {
namespace {

Value standard(Graph& graph, const char* type, const std::vector<Value>& inputs, const Site& site) {
  return graph.add_value({.type = type, .inputs = inputs}, site);
}

// Shapes a scale or a zero point so that it broadcasts to x along the node's axis.
Value along_axis(const GradientRequest& r, Value scale, const Site& site) {
  if (r.graph.shape(scale).empty()) return scale;
  const std::size_t rank = r.graph.shape(r.x(0)).size();
  if (r.graph.shape(scale)[0] == Dim(1)) return reshape(r.graph, scale, {}, site);
  AttributeReader attributes = r.node.attributes();
  const int64_t axis = normal_axes({attributes.integer("axis", 1)}, rank)[0];
  std::vector<int64_t> shape(rank - static_cast<std::size_t>(axis), 1);
  shape[0] = -1;
  return reshape(r.graph, scale, shape, site);
}

// The zero point as a float; none if it is omitted.
Value zero_point(const GradientRequest& r, const Site& site) {
  const Value zero = r.x(2);
  return zero ? along_axis(r, cast(r.graph, zero, DType::float32, site), site) : none;
}

// Sums the gradient of every element to the gradient of the scale.
Value of_scale(const GradientRequest& r, Value elements, Value scale, const Site& site) {
  return reshape_like(r.graph, sum_to(r.graph, elements, scale, site), r.x(1), site);
}

std::vector<Value> quantize_gradient(const GradientRequest& r) {
  Graph& graph = r.graph;
  const Site site = gradient_site(r, 0);
  const Value scale = along_axis(r, r.x(1), site);
  const Value quotient = div(graph, r.x(0), scale, site);
  Value place = standard(graph, "Round", {quotient}, site);
  if (const Value zero = zero_point(r, site)) place = add(graph, place, zero, site);
  const bool is_signed = graph.dtype(r.y(0)) == DType::int8;
  const Value low = shared_number(graph, is_signed ? -128 : 0);
  const Value high = shared_number(graph, is_signed ? 127 : 255);
  const Value inside = standard(graph, "And",
                                {standard(graph, "GreaterOrEqual", {place, low}, site),
                                 standard(graph, "LessOrEqual", {place, high}, site)},
                                site);
  const Value passed = standard(graph, "Where", {inside, r.dy[0], shared_number(graph, 0)}, site);
  const Value dx = div(graph, passed, scale, site);
  std::vector<Value> all(3);
  if (r.wanted[0]) all[0] = dx;
  if (r.wanted[1]) {
    const Site of = gradient_site(r, 1);
    all[1] = of_scale(r, neg(graph, mul(graph, dx, quotient, of), of), scale, of);
  }
  return all;
}

std::vector<Value> dequantize_gradient(const GradientRequest& r) {
  Graph& graph = r.graph;
  std::vector<Value> all(3);
  const Site site = gradient_site(r, 0);
  const Value scale = along_axis(r, r.x(1), site);
  if (r.wanted[0]) all[0] = mul(graph, r.dy[0], scale, site);
  if (r.wanted[1]) {
    const Site of = gradient_site(r, 1);
    Value place = cast(graph, r.x(0), DType::float32, of);
    if (const Value zero = zero_point(r, of)) place = sub(graph, place, zero, of);
    all[1] = of_scale(r, mul(graph, r.dy[0], place, of), scale, of);
  }
  return all;
}

// ONNX checks neither the scale's size nor the zero point's shape.
void check_scales(Inference& inference) {
  const TensorType &x = inference.input(0), &scale = inference.input(1);
  if (!scale.ranked) return;
  check(scale.shape.size() <= 1, what_is(inference, 1), ", should be a scalar or a vector");
  if (inference.inputs.size() > 2 && inference.inputs[2] && inference.input(2).ranked) {
    const bool one = scale.shape.empty() || scale.shape[0] == Dim(1);
    const Shape& zero = inference.input(2).shape;
    check(may_be(zero, scale.shape) || (one && (zero.empty() || zero == Shape{1})),
          what_is(inference, 2), "; the scale is ", scale);
  }
  const int64_t axis = inference.attributes.integer("axis", 1);
  if (!x.ranked || scale.shape.empty() || scale.shape[0] == Dim(1)) return;
  const Dim channels = x.shape[normal_axes({axis}, x.shape.size())[0]];
  check(may_be(channels, scale.shape[0]), what_is(inference, 1), " for the slices of ", x,
        " along axis ", axis);
}

void quantize_law(Inference& inference) {
  check_scales(inference);
  const bool given = inference.inputs.size() > 2 && inference.inputs[2];
  inference.outputs[0] = inference.input(0);
  inference.outputs[0].dtype = given ? inference.input(2).dtype : DType::uint8;
}

void dequantize_law(Inference& inference) {
  check_scales(inference);
  inference.outputs[0] = inference.input(0);
  inference.outputs[0].dtype = DType::float32;
}

}  // namespace

Scales Scales::of(const KernelRequest& request) {
  const int64_t count = request.in[1].count();
  if (count == 1) return {1, std::max<int64_t>(1, request.in[0].count())};
  AttributeReader attributes = request.attributes();
  const AroundAxis around(request.in[0].dims, attributes.integer("axis", 1));
  check(around.size == count, request.node.description(), ": ", count, " scales for ", around.size,
        " slices");
  return {count, around.inner};
}

std::vector<Op> quantize_ops() {
  return {{.type = "QuantizeLinear",
           .domain = "",
           .law = quantize_law,
           .differentiable = Differentiable::yes,
           .gradient = quantize_gradient,
           .flops = per_result<3>},
          {.type = "DequantizeLinear",
           .domain = "",
           .law = dequantize_law,
           .differentiable = Differentiable::yes,
           .gradient = dequantize_gradient,
           .flops = per_result<2>}};
}

}  // namespace lockstep
