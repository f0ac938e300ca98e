// Add Sub Mul Div Pow Sum (broadcasting); Neg Exp Log Sqrt Reciprocal Abs; Equal Greater Less;
// Cast. Gradients are standard operators again; sum_to undoes the broadcast.
#include "operators/elementwise/elementwise.h"

#include "operators/room.h"

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
    Value one = scalar_like(r.graph, b, 1, "one");
    Value power = binary(r.graph, "Pow", a, sub(r.graph, b, one, site), site);
    Value slope = mul(r.graph, b, power, site);
    dx[0] = sum_to(r.graph, mul(r.graph, r.dy[0], slope, site), a, site);
  }
  if (r.wanted[1]) {
    Site site = gradient_site(r, 1);
    Value slope = mul(r.graph, r.y(0), unary(r.graph, "Log", a, site), site);
    dx[1] = sum_to(r.graph, mul(r.graph, r.dy[0], slope, site), b, site);
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

// Either operand may be overwritten; the planner only does so where sizes agree, so a broadcast
// operand never is.
Op arithmetic(const char* type, GradientRule gradient) {
  return {.type = type,
          .domain = "",
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

Op comparison(const char* type) {
  return {.type = type, .domain = "", .differentiable = Differentiable::zero};
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
Value equal(Graph& graph, Value a, Value b, const Site& site) {
  return binary(graph, "Equal", a, b, site);
}
Value cast(Graph& graph, Value x, DType to, const Site& site) {
  return graph.add_value(
      {.type = "Cast", .inputs = {x}, .attributes = {{"to", static_cast<int64_t>(to)}}}, site);
}

std::vector<Op> elementwise_ops() {
  return {arithmetic("Add", add_gradient),
          arithmetic("Sub", sub_gradient),
          arithmetic("Mul", mul_gradient),
          arithmetic("Div", div_gradient),
          arithmetic("Pow", pow_gradient),
          arithmetic("Sum", add_gradient),
          function("Neg", neg_gradient),
          function("Exp", exp_gradient),
          function("Log", log_gradient),
          function("Sqrt", sqrt_gradient),
          function("Reciprocal", reciprocal_gradient),
          function("Abs", abs_gradient),
          {.type = "Sign", .domain = "", .differentiable = Differentiable::zero},
          comparison("Equal"),
          comparison("Greater"),
          comparison("Less"),
          {.type = "Cast",
           .domain = "",
           .differentiable = Differentiable::yes,
           .gradient = cast_gradient}};
}

}  // namespace lockstep
