// SPDX-License-Identifier: Apache-2.0
// ReduceSum (axes are an operand since opset 13); ReduceMean ReduceMax ReduceMin ReduceProd
// ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSum ReduceLogSumExp (axes are an attribute); ArgMax
// ArgMin; CumSum; Hardmax; ChannelSums (channel_sums.h). Gradients spread dy over the reduced
// elements. The gradient of a maximum is split equally among all elements that attain the maximum.
#include "operators/reduce/reduce.h"

#include <limits>

#include "lockstep/operators.h"
#include "operators/kit/flops.h"
#include "operators/kit/operator_helpers.h"
#include "operators/reduce/channel_sums.h"

namespace lockstep {
namespace {

Value reduce_by_attribute(Graph& graph, const char* type, Value x, const std::vector<int64_t>& axes,
                          bool keep_dims, const Site& site) {
  Attributes attributes{{"keepdims", int64_t{keep_dims}}};
  if (!axes.empty()) attributes.push_back({"axes", axes});
  return graph.add_value({.type = type, .inputs = {x}, .attributes = attributes}, site);
}

// The axes of a reduction node; all axes if none are given.
std::vector<int64_t> axes_of(const GradientRequest& r) {
  auto attributes = r.node.attributes();
  std::vector<int64_t> axes = attributes.integers("axes");
  if (Value operand = r.x(1)) {
    const Literal* literal = r.graph.literal(operand);
    check(literal, r.node.description(), ": its axes must be constant");
    axes = literal->integers();
  }
  const std::size_t rank = r.graph.shape(r.x(0)).size();
  if (axes.empty())
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  return normal_axes(axes, rank);
}

// Restores the reduced dimensions of `value`, which has the shape of the reduced output, as ones.
Value with_ones(const GradientRequest& r, Value value, const Site& site) {
  auto attributes = r.node.attributes();
  if (attributes.integer("keepdims", 1) != 0 || r.graph.shape(r.x(0)).empty()) return value;
  Value axes = r.graph.constant(site.name + "_axes", Literal::vector(axes_of(r)));
  return r.graph.add_value({.type = "Unsqueeze", .inputs = {value, axes}}, site);
}

Value spread(const GradientRequest& r, Value dy, const Site& site) {
  return expand_like(r.graph, with_ones(r, dy, site), r.x(0), site);
}

std::vector<Value> sum_gradient(const GradientRequest& r) {
  return {spread(r, r.dy[0], gradient_site(r, 0))};
}

// The count may depend on the batch. If it is unknown, it is computed as the sum of a tensor of
// ones.
std::vector<Value> reduced_mean_gradient(const GradientRequest& r) {
  Site site = gradient_site(r, 0);
  const Shape x = r.graph.shape(r.x(0));
  int64_t count = 1;
  bool known = true;
  for (int64_t axis : axes_of(r)) {
    known = known && x[axis].known();
    if (known) count *= x[axis].size();
  }
  if (known) {
    Value scale = scalar_like(r.graph, r.x(0), 1.0 / static_cast<double>(count), "share");
    return {spread(r, mul(r.graph, r.dy[0], scale, site), site)};
  }
  Value ones = expand_like(r.graph, scalar_like(r.graph, r.x(0), 1, "one"), r.x(0), site);
  Value total = reduce_sum(r.graph, ones, axes_of(r), true, site);
  return {div(r.graph, spread(r, r.dy[0], site), total, site)};
}

std::vector<Value> reduced_extreme_gradient(const GradientRequest& r) {
  Site site = gradient_site(r, 0);
  Value hit = equal(r.graph, r.x(0), with_ones(r, r.y(0), site), site);
  Value mask = cast(r.graph, hit, r.graph.dtype(r.x(0)), site);
  Value count = reduce_sum(r.graph, mask, axes_of(r), true, site);
  Value share = div(r.graph, with_ones(r, r.dy[0], site), count, site);
  return {mul(r.graph, mask, share, site)};
}

Value apply(Graph& graph, const char* type, Value x, const Site& site) {
  return graph.add_value({.type = type, .inputs = {x}}, site);
}

std::vector<Value> l1_gradient(const GradientRequest& r) {
  Site site = gradient_site(r, 0);
  return {mul(r.graph, spread(r, r.dy[0], site), apply(r.graph, "Sign", r.x(0), site), site)};
}

std::vector<Value> l2_gradient(const GradientRequest& r) {
  Site site = gradient_site(r, 0);
  Value slope = spread(r, div(r.graph, r.dy[0], r.y(0), site), site);
  return {mul(r.graph, slope, r.x(0), site)};
}

std::vector<Value> sum_square_gradient(const GradientRequest& r) {
  Site site = gradient_site(r, 0);
  Value twice = mul(r.graph, r.x(0), scalar_like(r.graph, r.x(0), 2, "two"), site);
  return {mul(r.graph, spread(r, r.dy[0], site), twice, site)};
}

std::vector<Value> log_sum_gradient(const GradientRequest& r) {
  Site site = gradient_site(r, 0);
  return {spread(r, div(r.graph, r.dy[0], apply(r.graph, "Exp", r.y(0), site), site), site)};
}

// The exponential of x - y. If all elements are -inf, y is -inf, too, and x - y not a number; x - 0
// makes the gradient 0.
std::vector<Value> log_sum_exp_gradient(const GradientRequest& r) {
  Site site = gradient_site(r, 0);
  Value least = scalar_like(r.graph, r.x(0), -std::numeric_limits<double>::infinity(), "least");
  Value zero = scalar_like(r.graph, r.x(0), 0, "zero");
  Value y = r.graph.add_value(
      {.type = "Where", .inputs = {equal(r.graph, r.y(0), least, site), zero, r.y(0)}}, site);
  Value below = sub(r.graph, r.x(0), with_ones(r, y, site), site);
  return {mul(r.graph, spread(r, r.dy[0], site), apply(r.graph, "Exp", below, site), site)};
}

Op reduction(const char* type, GradientRule gradient, FlopRule flops = per_operand<1>) {
  return {.type = type,
          .domain = "",
          .differentiable = Differentiable::yes,
          .gradient = gradient,
          .flops = flops};
}

// Accumulates dy from the other end.
std::vector<Value> cum_sum_gradient(const GradientRequest& r) {
  auto attributes = r.node.attributes();
  return {r.graph.add_value(
              {.type = "CumSum",
               .inputs = {r.dy[0], r.x(1)},
               .attributes = {{"exclusive", attributes.integer("exclusive", 0)},
                              {"reverse", int64_t{attributes.integer("reverse", 0) == 0}}}},
              gradient_site(r, 0)),
          none};
}

}  // namespace

Value reduce_sum(Graph& graph, Value x, const std::vector<int64_t>& axes, bool keep_dims,
                 const Site& site) {
  Value operand = none;
  if (!axes.empty())
    operand = graph.constant((site.name.empty() ? graph.name(x) : site.name) + "_axes",
                             Literal::vector(axes));
  return graph.add_value({.type = "ReduceSum",
                          .inputs = {x, operand},
                          .attributes = {{"keepdims", int64_t{keep_dims}}}},
                         site);
}

Value reduce_mean(Graph& graph, Value x, const std::vector<int64_t>& axes, bool keep_dims,
                  const Site& site) {
  return reduce_by_attribute(graph, "ReduceMean", x, axes, keep_dims, site);
}

Value arg_max(Graph& graph, Value x, int64_t axis, bool keep_dims, const Site& site) {
  return graph.add_value({.type = "ArgMax",
                          .inputs = {x},
                          .attributes = {{"axis", axis}, {"keepdims", int64_t{keep_dims}}}},
                         site);
}

std::vector<Op> reduce_ops() {
  return {{.type = "CumSum",
           .domain = "",
           .law = same_as_first,
           .differentiable = Differentiable::yes,
           .gradient = cum_sum_gradient},
          {.type = "Hardmax",
           .domain = "",
           .law = same_as_first,
           .differentiable = Differentiable::zero},
          channel_sums_op(),
          reduction("ReduceSum", sum_gradient),
          reduction("ReduceMean", reduced_mean_gradient),
          reduction("ReduceMax", reduced_extreme_gradient),
          reduction("ReduceMin", reduced_extreme_gradient),
          reduction("ReduceL1", l1_gradient),
          reduction("ReduceL2", l2_gradient, per_operand<2>),
          reduction("ReduceSumSquare", sum_square_gradient, per_operand<2>),
          reduction("ReduceLogSum", log_sum_gradient),
          reduction("ReduceLogSumExp", log_sum_exp_gradient, per_operand<4>),
          with_flops({.type = "ReduceProd", .domain = "", .content = content_of_product},
                     per_operand<1>),
          with_flops({.type = "ArgMin", .domain = "", .differentiable = Differentiable::zero},
                     per_operand<1>),
          with_flops({.type = "ArgMax", .domain = "", .differentiable = Differentiable::zero},
                     per_operand<1>)};
}

}  // namespace lockstep
