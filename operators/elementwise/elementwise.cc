// SPDX-License-Identifier: Apache-2.0
// Add Sub Mul Div Pow Sum Mean Max Min PRelu Where Mod BitShift (broadcasting); Neg Exp Log Sqrt
// Reciprocal Abs; Clip (clip.h); comparisons and logic; Cast CastLike. Gradients consist of
// standard operators; sum_to() undoes the broadcast.
#include "operators/elementwise/elementwise.h"

#include "operators/elementwise/bytes.h"
#include "operators/elementwise/casts.h"
#include "operators/elementwise/clip.h"
#include "operators/kit/flops.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {
namespace {

Value unary(Graph& graph, const char* type, Value x, const Site& site) {
  return graph.add_value({.type = type, .inputs = {x}}, site);
}

Value binary(Graph& graph, const char* type, Value a, Value b, const Site& site) {
  return graph.add_value({.type = type, .inputs = {a, b}}, site);
}

std::vector<Value> add_gradient(const GradientRequest& r) {
  std::vector<Value> dx(r.node.inputs().size());
  for (std::size_t i = 0; i < dx.size(); ++i)
    if (r.wanted[i]) dx[i] = sum_to(r.graph, r.dy[0], r.x(i), gradient_site(r, i));
  return dx;
}

std::vector<Value> sub_gradient(const GradientRequest& r) {
  std::vector<Value> dx(2);
  if (r.wanted[0]) dx[0] = sum_to(r.graph, r.dy[0], r.x(0), gradient_site(r, 0));
  if (r.wanted[1]) {
    Value negative = neg(r.graph, r.dy[0], gradient_site(r, 1));
    dx[1] = sum_to(r.graph, negative, r.x(1), gradient_site(r, 1));
  }
  return dx;
}

std::vector<Value> mul_gradient(const GradientRequest& r) {
  std::vector<Value> dx(2);
  for (std::size_t i = 0; i < 2; ++i)
    if (r.wanted[i]) {
      Value product = mul(r.graph, r.dy[0], r.x(1 - i), gradient_site(r, i));
      dx[i] = sum_to(r.graph, product, r.x(i), gradient_site(r, i));
    }
  return dx;
}

// d(a/b) = da / b - (y / b) db
std::vector<Value> div_gradient(const GradientRequest& r) {
  std::vector<Value> dx(2);
  Site to_b = gradient_site(r, 1);
  Value quotient = div(r.graph, r.dy[0], r.x(1), gradient_site(r, 0));
  if (r.wanted[0]) dx[0] = sum_to(r.graph, quotient, r.x(0), gradient_site(r, 0));
  if (r.wanted[1]) {
    Value product = neg(r.graph, mul(r.graph, quotient, r.y(0), to_b), to_b);
    dx[1] = sum_to(r.graph, product, r.x(1), to_b);
  }
  return dx;
}

// d(a^b) = b a^(b-1) da + y log(a) db
std::vector<Value> pow_gradient(const GradientRequest& r) {
  std::vector<Value> dx(2);
  Value a = r.x(0), b = r.x(1);
  if (r.wanted[0]) {
    Site site = gradient_site(r, 0);
    const DType type = r.graph.dtype(a);  // ONNX permits another type for the exponent
    if (r.graph.dtype(b) != type) b = cast(r.graph, b, type, site);
    Value one = scalar_like(r.graph, b, 1, "one");
    Value power = binary(r.graph, "Pow", a, sub(r.graph, b, one, site), site);
    Value slope = mul(r.graph, b, power, site);
    dx[0] = sum_to(r.graph, mul(r.graph, r.dy[0], slope, site), a, site);
  }
  if (r.wanted[1]) {
    Site site = gradient_site(r, 1);
    Value slope = mul(r.graph, r.y(0), unary(r.graph, "Log", a, site), site);
    Value product = mul(r.graph, r.dy[0], slope, site);
    const DType type = r.graph.dtype(r.x(1));
    if (r.graph.dtype(product) != type) product = cast(r.graph, product, type, site);
    dx[1] = sum_to(r.graph, product, r.x(1), site);
  }
  return dx;
}

std::vector<Value> neg_gradient(const GradientRequest& r) {
  return {neg(r.graph, r.dy[0], gradient_site(r, 0))};
}

std::vector<Value> exp_gradient(const GradientRequest& r) {
  return {mul(r.graph, r.dy[0], r.y(0), gradient_site(r, 0))};
}

std::vector<Value> log_gradient(const GradientRequest& r) {
  return {div(r.graph, r.dy[0], r.x(0), gradient_site(r, 0))};
}

std::vector<Value> sqrt_gradient(const GradientRequest& r) {
  Site site = gradient_site(r, 0);
  Value two = scalar_like(r.graph, r.y(0), 2, "two");
  return {div(r.graph, r.dy[0], mul(r.graph, two, r.y(0), site), site)};
}

std::vector<Value> reciprocal_gradient(const GradientRequest& r) {
  Site site = gradient_site(r, 0);
  Value square = mul(r.graph, r.y(0), r.y(0), site);
  return {neg(r.graph, mul(r.graph, r.dy[0], square, site), site)};
}

std::vector<Value> abs_gradient(const GradientRequest& r) {
  Site site = gradient_site(r, 0);
  return {mul(r.graph, r.dy[0], unary(r.graph, "Sign", r.x(0), site), site)};
}

std::vector<Value> cast_gradient(const GradientRequest& r) {
  return {cast(r.graph, r.dy[0], r.graph.dtype(r.x(0)), gradient_site(r, 0))};
}

std::vector<Value> cast_like_gradient(const GradientRequest& r) {
  return {cast(r.graph, r.dy[0], r.graph.dtype(r.x(0)), gradient_site(r, 0)), none};
}

// Every operand gets an equal part of dy.
std::vector<Value> mean_gradient(const GradientRequest& r) {
  const double share = 1.0 / static_cast<double>(r.node.inputs().size());
  std::vector<Value> dx(r.node.inputs().size());
  for (std::size_t i = 0; i < dx.size(); ++i) {
    if (!r.wanted[i]) continue;
    Site site = gradient_site(r, i);
    Value part = mul(r.graph, r.dy[0], scalar_like(r.graph, r.dy[0], share, "share"), site);
    dx[i] = sum_to(r.graph, part, r.x(i), site);
  }
  return dx;
}

// Splits dy equally among the operands that attain the extreme.
std::vector<Value> extreme_gradient(const GradientRequest& r) {
  const std::size_t count = r.node.inputs().size();
  std::vector<Value> hits, dx(count);
  Site site = gradient_site(r, 0);
  for (std::size_t i = 0; i < count; ++i)
    hits.push_back(
        cast(r.graph, equal(r.graph, r.x(i), r.y(0), site), r.graph.dtype(r.y(0)), site));
  Value total = r.graph.add_value({.type = "Sum", .inputs = hits}, site);
  Value share = div(r.graph, r.dy[0], total, site);
  for (std::size_t i = 0; i < count; ++i)
    if (r.wanted[i])
      dx[i] = sum_to(r.graph, mul(r.graph, hits[i], share, gradient_site(r, i)), r.x(i),
                     gradient_site(r, i));
  return dx;
}

Value where(Graph& graph, Value condition, Value a, Value b, const Site& site) {
  return graph.add_value({.type = "Where", .inputs = {condition, a, b}}, site);
}

std::vector<Value> where_gradient(const GradientRequest& r) {
  std::vector<Value> dx(3);
  Value zero = scalar_like(r.graph, r.dy[0], 0, "zero");
  for (std::size_t i = 1; i < 3; ++i) {
    if (!r.wanted[i]) continue;
    Site site = gradient_site(r, i);
    Value part = i == 1 ? where(r.graph, r.x(0), r.dy[0], zero, site)
                        : where(r.graph, r.x(0), zero, r.dy[0], site);
    dx[i] = sum_to(r.graph, part, r.x(i), site);
  }
  return dx;
}

// y = x if x is positive, else slope * x.
std::vector<Value> prelu_gradient(const GradientRequest& r) {
  std::vector<Value> dx(2);
  Site site = gradient_site(r, 0);
  Value zero = scalar_like(r.graph, r.x(0), 0, "zero");
  Value positive = binary(r.graph, "Greater", r.x(0), zero, site);
  if (r.wanted[0])
    dx[0] = where(r.graph, positive, r.dy[0], mul(r.graph, r.dy[0], r.x(1), site), site);
  if (r.wanted[1]) {
    Site of_slope = gradient_site(r, 1);
    Value part = where(r.graph, positive, zero, mul(r.graph, r.dy[0], r.x(0), of_slope), of_slope);
    dx[1] = sum_to(r.graph, part, r.x(1), of_slope);
  }
  return dx;
}

// The result may overwrite either operand. The planner permits this only for operands of the
// result's size, never for a broadcast operand.
Op arithmetic(const char* type, GradientRule gradient) {
  return {.type = type,
          .domain = "",
          .content = content_of_arithmetic,
          .differentiable = Differentiable::yes,
          .gradient = gradient,
          .may_alias = {{0, 0}, {0, 1}}};
}

Op function(const char* type, GradientRule gradient) {
  return {.type = type,
          .domain = "",
          .differentiable = Differentiable::yes,
          .gradient = gradient,
          .may_alias = {{0, 0}}};
}

// Checks the condition's type. ONNX infers the shape.
void where_law(Inference& inference) { demand_type(inference, 0, DType::boolean); }

// Infers the result of a comparison. ONNX 1.12 infers nothing for GreaterOrEqual and LessOrEqual.
void comparison_law(Inference& inference) {
  if (!inference.input(0).ranked || !inference.input(1).ranked) return;
  inference.outputs[0] = {DType::boolean,
                          broadcast_shape(inference.input(0).shape, inference.input(1).shape)};
}

Op comparison(const char* type, ContentLaw content = nullptr) {
  return {.type = type, .domain = "", .content = content, .differentiable = Differentiable::zero};
}

}  // namespace

Value add(Graph& graph, Value a, Value b, const Site& site) {
  return binary(graph, "Add", a, b, site);
}
Value sub(Graph& graph, Value a, Value b, const Site& site) {
  return binary(graph, "Sub", a, b, site);
}
Value mul(Graph& graph, Value a, Value b, const Site& site) {
  return binary(graph, "Mul", a, b, site);
}
Value div(Graph& graph, Value a, Value b, const Site& site) {
  return binary(graph, "Div", a, b, site);
}
Value neg(Graph& graph, Value x, const Site& site) { return unary(graph, "Neg", x, site); }
Value clip(Graph& graph, Value x, float low, float high, const Site& site) {
  const std::string name = site.name.empty() ? "clip" : site.name;
  return graph.add_value({.type = "Clip",
                          .inputs = {x, graph.constant(name + "_low", Literal::scalar(low)),
                                     graph.constant(name + "_high", Literal::scalar(high))}},
                         site);
}

Value equal(Graph& graph, Value a, Value b, const Site& site) {
  return binary(graph, "Equal", a, b, site);
}
Value cast(Graph& graph, Value x, DType to, const Site& site) {
  return graph.add_value(
      {.type = "Cast", .inputs = {x}, .attributes = {{"to", static_cast<int64_t>(to)}}}, site);
}

std::vector<Op> elementwise_ops() {
  return {in_transit(following_narrow(arithmetic("Add", add_gradient))),
          following_narrow(arithmetic("Sub", sub_gradient)),
          following_narrow(arithmetic("Mul", mul_gradient)),
          arithmetic("Div", div_gradient),
          arithmetic("Pow", pow_gradient),
          with_flops(in_transit(following_narrow(arithmetic("Sum", add_gradient))), per_combined),
          function("Neg", neg_gradient),
          function("Exp", exp_gradient),
          function("Log", log_gradient),
          function("Sqrt", sqrt_gradient),
          function("Reciprocal", reciprocal_gradient),
          function("Abs", abs_gradient),
          {.type = "Sign", .domain = "", .differentiable = Differentiable::zero},
          following_narrow(comparison("Equal", content_of_arithmetic)),
          comparison("Greater"),
          comparison("Less"),
          {.type = "GreaterOrEqual",
           .domain = "",
           .law = comparison_law,
           .differentiable = Differentiable::zero},
          {.type = "LessOrEqual",
           .domain = "",
           .law = comparison_law,
           .differentiable = Differentiable::zero},
          comparison("And"),
          comparison("Or"),
          comparison("Xor"),
          comparison("Not"),
          comparison("IsNaN"),
          comparison("IsInf"),
          comparison("Mod", content_of_arithmetic),
          comparison("BitShift"),
          with_flops(arithmetic("Mean", mean_gradient), per_combined),
          with_flops(arithmetic("Max", extreme_gradient), per_combined),
          with_flops(arithmetic("Min", extreme_gradient), per_combined),
          {.type = "PRelu",
           .domain = "",
           .differentiable = Differentiable::yes,
           .gradient = prelu_gradient,
           .may_alias = {{0, 0}}},
          {.type = "Where",
           .domain = "",
           .law = where_law,
           .content = content_of_where,
           .differentiable = Differentiable::yes,
           .gradient = where_gradient,
           .flops = no_flops,
           .narrow = {Narrow::follows}},
          byte_table_op(),
          casts_op(),
          clip_op(),
          clip_grad_op(),
          {.type = "CastLike",
           .domain = "",
           .differentiable = Differentiable::yes,
           .gradient = cast_like_gradient,
           .flops = no_flops},
          in_transit({.type = "Cast",
                      .domain = "",
                      .content = same_content,
                      .differentiable = Differentiable::yes,
                      .gradient = cast_gradient,
                      .flops = no_flops})};
}

}  // namespace lockstep
