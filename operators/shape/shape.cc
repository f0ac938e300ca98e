// SPDX-License-Identifier: Apache-2.0
// Identity StopGradient Reshape Flatten Squeeze Unsqueeze (views), Transpose Concat Slice Expand
// Split Tile Pad DepthToSpace SpaceToDepth (copies), Shape Size Range (folded). SliceGrad (dy,
// shape of x, starts, ends, axes, steps) -> dx writes dy where Slice read, zeros elsewhere. PadGrad
// is in pad.cc.
#include "operators/shape/shape.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "lockstep/operators.h"
#include "operators/kit/flops.h"
#include "operators/kit/operator_helpers.h"
#include "operators/kit/symbolic_size.h"
#include "operators/shape/pad.h"
#include "operators/shape/tile.h"

namespace lockstep {
namespace {

// The product of all sizes that are not marked; empty if an unmarked size is unknown.
std::optional<OpenSize> product_of(const Shape& shape, const std::vector<bool>& left_out) {
  OpenSize product = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (left_out[i]) continue;
    const auto size = OpenSize::of(shape[i]);
    if (!size) return std::nullopt;
    product = product * *size;
  }
  return product;
}

// Reshape's target: the content of operand 1, else "?" for each entry.
std::optional<Shape> wanted_shape(const Inference& inference) {
  if (auto content = content_of(inference, 1)) return content;
  const TensorType& to = inference.input(1);
  if (!to.ranked || to.shape.size() != 1 || !to.shape[0].known()) return std::nullopt;
  return Shape(to.shape[0].size(), Dim("?"));
}

// Resolves 0 and -1 as ONNX defines. Dimensions copied by 0 are in neither product, so they may be
// "?".
void reshape_law(Inference& inference) {
  const auto wanted = wanted_shape(inference);
  const TensorType& x = inference.input(0);
  if (!wanted) return;
  const bool allow_zero = inference.attributes.integer("allowzero", 0) != 0;
  Shape shape = *wanted;
  std::vector<bool> out_of_x(x.shape.size(), false), out_of_y(shape.size(), false);
  std::vector<std::size_t> unknown, asked;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == Dim(0) && !allow_zero) {
      check(!x.ranked || i < x.shape.size(), "shape ", *wanted, " copies dimension ", i,
            ", which the data does not have");
      shape[i] = x.ranked ? x.shape[i] : Dim("?");
      if (x.ranked) out_of_x[i] = out_of_y[i] = true;
    } else if (number_of(shape[i]) == -1) {
      asked.push_back(i);
      shape[i] = "?";
    } else if (shape[i].symbol() == "?") {
      unknown.push_back(i);
    }
  }
  check(asked.size() <= 1, "shape ", *wanted, " has more than one -1");
  if (asked.empty() && unknown.size() == 1) asked = unknown;  // from the number of elements
  if (!asked.empty()) out_of_y[asked[0]] = true;
  const auto from = x.ranked ? product_of(x.shape, out_of_x) : std::nullopt;
  const auto to = product_of(shape, out_of_y);
  const auto rest = from && to ? OpenSize::quotient(*from, *to) : std::nullopt;
  if (!asked.empty() && rest) shape[asked[0]] = rest->dim();
  // If symbols are left, the plan checks this.
  if (asked.empty() && from && to && from->number() && to->number())
    check(*from == *to, "cannot reshape ", x.shape, " to ", *wanted);
  inference.outputs[0] = {x.dtype, shape, true};
}

// Checks the number of axes: ONNX accepts a `perm` with fewer axes than x has.
void transpose_law(Inference& inference) {
  const std::vector<int64_t> order = inference.attributes.integers("perm");
  const TensorType& x = inference.input(0);
  check(order.empty() || !x.ranked || order.size() == x.shape.size(), "perm has ", order.size(),
        " axes, its input ", x.shape.size());
}

// The number of elements that a slice selects along a dimension; negative starts and ends count
// from the dimension's end.
int64_t sliced_size(int64_t size, int64_t start, int64_t end, int64_t step) {
  const int64_t first = step > 0 ? 0 : -1, last = step > 0 ? size : size - 1;
  start = std::clamp<int64_t>(start < 0 ? start + size : start, step > 0 ? 0 : std::min(last, 0L),
                              last);
  end = std::clamp<int64_t>(end < 0 ? end + size : end, first, last);
  const int64_t span = step > 0 ? end - start : start - end;
  if (span <= 0) return 0;
  const int64_t stride = step > 0 ? step : step == INT64_MIN ? INT64_MAX : -step;
  return (span - 1) / stride + 1;
}

// Checks that dy has the shape of the slice of the result.
void slice_grad_law(Inference& inference) {
  shape_from_operand(inference);
  if (!inference.outputs[0].ranked) return;
  Shape slice = inference.outputs[0].shape;
  const auto starts = content_of(inference, 2), ends = content_of(inference, 3);
  if (!starts || !ends) return;
  auto given = [&](std::size_t i) { return i < inference.inputs.size() && inference.inputs[i]; };
  Shape axes, steps(starts->size(), Dim(1));
  for (std::size_t i = 0; i < starts->size(); ++i) axes.emplace_back(static_cast<int64_t>(i));
  if (given(4)) axes = content_of(inference, 4).value_or(Shape(starts->size(), Dim("?")));
  if (given(5)) steps = content_of(inference, 5).value_or(Shape(starts->size(), Dim("?")));
  check(ends->size() == starts->size() && axes.size() == starts->size() &&
            steps.size() == starts->size(),
        "has ", starts->size(), " starts, ", ends->size(), " ends, ", axes.size(), " axes and ",
        steps.size(), " steps");
  std::vector<bool> taken(slice.size(), false);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = number_of(axes[i]), step = number_of(steps[i]);
    check(step != 0, "a step is 0");
    if (!axis) return demand_dims(inference, 0, slice.size());
    const std::size_t at = normal_axes({*axis}, slice.size())[0];
    check(!taken[at], "axis ", at, " is sliced twice");
    taken[at] = true;
    const auto start = number_of((*starts)[i]), end = number_of((*ends)[i]);
    slice[at] = start && end && step && slice[at].known()
                    ? Dim(sliced_size(slice[at].size(), *start, *end, *step))
                    : Dim("?");
  }
  demand_shape(inference, 0, slice);
}

// The number of values for a step of 1. The end may be symbolic.
void range_law(Inference& inference) {
  auto start = content_of(inference, 0), end = content_of(inference, 1),
       step = content_of(inference, 2);
  if (!start || !end || !step || step->size() != 1 || number_of(step->front()) != 1) return;
  const auto first = OpenSize::of(start->front()), last = OpenSize::of(end->front());
  if (!first || !last || !(*last - *first).not_negative()) return;
  inference.outputs[0] = {inference.input(0).dtype, {(*last - *first).dim()}};
}

void expand_law(Inference& inference) {
  auto to = content_of(inference, 1);
  const TensorType& x = inference.input(0);
  if (!to || !x.ranked) return;
  inference.outputs[0] = {x.dtype, broadcast_shape(x.shape, *to), true};
}

std::vector<Value> pass_through(const GradientRequest& r) { return {r.dy[0]}; }

std::vector<Value> reshape_gradient(const GradientRequest& r) {
  return {reshape_like(r.graph, r.dy[0], r.x(0), gradient_site(r, 0))};
}

std::vector<Value> transpose_gradient(const GradientRequest& r) {
  auto attributes = r.node.attributes();
  std::vector<int64_t> order = attributes.integers("perm");
  const std::size_t rank = r.graph.shape(r.x(0)).size();
  std::vector<int64_t> inverse(rank);
  for (std::size_t i = 0; i < rank; ++i)
    inverse[order.empty() ? rank - 1 - i : order[i]] = static_cast<int64_t>(i);
  return {transpose(r.graph, r.dy[0], inverse, gradient_site(r, 0))};
}

std::vector<Value> concat_gradient(const GradientRequest& r) {
  auto attributes = r.node.attributes();
  const std::size_t rank = r.graph.shape(r.x(0)).size();
  int64_t axis = normal_axes({attributes.integer("axis", 0)}, rank)[0];
  std::vector<Value> dx(r.node.inputs().size());
  int64_t start = 0;
  for (std::size_t i = 0; i < dx.size(); ++i) {
    const Dim size = r.graph.shape(r.x(i))[axis];
    check(size.known(), r.node.description(), ": its gradient needs known sizes along axis ", axis);
    if (r.wanted[i])
      dx[i] = slice(r.graph, r.dy[0], axis, start, start + size.size(), gradient_site(r, i));
    start += size.size();
  }
  return dx;
}

std::vector<Value> slice_gradient(const GradientRequest& r) {
  Site site = gradient_site(r, 0);
  std::vector<Value> inputs{r.dy[0], shape_of(r.graph, r.x(0), site)};
  for (std::size_t i = 1; i < r.node.inputs().size(); ++i) inputs.push_back(r.x(i));
  return {r.graph.add_value({.type = "SliceGrad", .domain = kOwnDomain, .inputs = inputs}, site)};
}

// Concatenates the gradients of all parts, with zeros for a part that no loss reaches.
std::vector<Value> split_gradient(const GradientRequest& r) {
  auto attributes = r.node.attributes();
  Site site = gradient_site(r, 0);
  std::vector<Value> parts;
  for (std::size_t i = 0; i < r.dy.size(); ++i)
    parts.push_back(
        r.dy[i] ? r.dy[i]
                : expand_like(r.graph, scalar_like(r.graph, r.y(i), 0, "zero"), r.y(i), site));
  return {concat(r.graph, parts, attributes.integer("axis", 0), site), none};
}

// DepthToSpace and SpaceToDepth are inverses, except that SpaceToDepth always puts the block before
// the channels (mode DCR). For mode CRD, the gradient moves the block behind the channels.
std::vector<Value> depth_to_space_gradient(const GradientRequest& r) {
  auto attributes = r.node.attributes();
  const int64_t block = attributes.integer("blocksize", 1);
  const Site site = gradient_site(r, 0);
  const Value depth = r.graph.add_value(
      {.type = "SpaceToDepth", .inputs = {r.dy[0]}, .attributes = {{"blocksize", block}}}, site);
  if (attributes.text("mode", "DCR") == "DCR") return {depth};
  const Dim channels = r.graph.shape(r.x(0))[1];
  check(channels.known(), r.node.description(), ": its gradient needs a known number of channels");
  const Value apart =
      reshape(r.graph, depth, {0, block * block, channels.size() / (block * block), -1}, site);
  return {reshape_like(r.graph, transpose(r.graph, apart, {0, 2, 1, 3}, site), r.x(0), site)};
}

std::vector<Value> space_to_depth_gradient(const GradientRequest& r) {
  auto attributes = r.node.attributes();
  return {r.graph.add_value({.type = "DepthToSpace",
                             .inputs = {r.dy[0]},
                             .attributes = {{"blocksize", attributes.integer("blocksize", 1)}}},
                            gradient_site(r, 0))};
}

std::vector<Value> expand_gradient(const GradientRequest& r) {
  return {sum_to(r.graph, r.dy[0], r.x(0), gradient_site(r, 0))};
}

Op view(const char* type, ShapeLaw law, GradientRule gradient) {
  return {.type = type,
          .domain = "",
          .law = law,
          .content = same_content,
          .differentiable = Differentiable::yes,
          .gradient = gradient,
          .view = true,
          .narrow = {Narrow::follows}};
}

Op copy(const char* type, ShapeLaw law, GradientRule gradient, ContentLaw content = nullptr) {
  return {.type = type,
          .domain = "",
          .law = law,
          .content = content,
          .differentiable = Differentiable::yes,
          .gradient = gradient,
          .flops = no_flops,
          .narrow = {Narrow::follows}};
}

}  // namespace

Value identity(Graph& graph, Value x, const Site& site) {
  return graph.add_value({.type = "Identity", .inputs = {x}}, site);
}

Value stop_gradient(Graph& graph, Value x, const Site& site) {
  return graph.add_value({.type = "StopGradient", .domain = kOwnDomain, .inputs = {x}}, site);
}

Value reshape(Graph& graph, Value x, const std::vector<int64_t>& shape, const Site& site) {
  Value to = graph.constant((site.name.empty() ? graph.name(x) : site.name) + "_shape",
                            Literal::vector(shape));
  return graph.add_value({.type = "Reshape", .inputs = {x, to}}, site);
}

Value reshape_like(Graph& graph, Value x, Value like, const Site& site) {
  return graph.add_value({.type = "Reshape", .inputs = {x, shape_of(graph, like, site)}}, site);
}

Value flatten(Graph& graph, Value x, int64_t axis, const Site& site) {
  return graph.add_value({.type = "Flatten", .inputs = {x}, .attributes = {{"axis", axis}}}, site);
}

Value transpose(Graph& graph, Value x, const std::vector<int64_t>& order, const Site& site) {
  return graph.add_value({.type = "Transpose", .inputs = {x}, .attributes = {{"perm", order}}},
                         site);
}

Value concat(Graph& graph, const std::vector<Value>& parts, int64_t axis, const Site& site) {
  return graph.add_value({.type = "Concat", .inputs = parts, .attributes = {{"axis", axis}}}, site);
}

Value slice(Graph& graph, Value x, int64_t axis, int64_t start, int64_t end, const Site& site) {
  auto one = [&](const char* what, int64_t value) {
    return graph.constant((site.name.empty() ? graph.name(x) : site.name) + what,
                          Literal::vector({value}));
  };
  return graph.add_value(
      {.type = "Slice", .inputs = {x, one("_start", start), one("_end", end), one("_axis", axis)}},
      site);
}

Value shape_of(Graph& graph, Value x, const Site& site) {
  if (is_static(graph.shape(x)))
    return graph.constant(graph.name(x) + "_shape", Literal::vector(to_dims(graph.shape(x))));
  return graph.add_value({.type = "Shape", .inputs = {x}},
                         Site(graph.name(x) + "_shape", site.where));
}

Value expand_like(Graph& graph, Value x, Value like, const Site& site) {
  return graph.add_value({.type = "Expand", .inputs = {x, shape_of(graph, like, site)}}, site);
}

std::vector<Op> shape_ops() {
  return {in_transit(view("Identity", nullptr, pass_through)),
          {.type = "StopGradient",
           .domain = kOwnDomain,
           .body = [](const BodyRequest& r) -> std::vector<Value> {
             return {identity(r.graph, r.x(0))};
           },
           .signature = Signature{"y = x; no gradient flows back.", {{"x"}}, {{"y"}}},
           .law = same_as_first,
           .differentiable = Differentiable::zero,
           .view = true,
           .narrow = {Narrow::follows}},
          in_transit(view("Reshape", reshape_law, reshape_gradient)),
          view("Flatten", nullptr, reshape_gradient),
          view("Squeeze", nullptr, reshape_gradient),
          view("Unsqueeze", nullptr, reshape_gradient),
          copy("Transpose", transpose_law, transpose_gradient, content_of_transpose),
          in_transit(copy("Concat", nullptr, concat_gradient, content_of_concat)),
          copy("Slice", nullptr, slice_gradient, content_of_slice),
          copy("Expand", expand_law, expand_gradient, content_of_expand),
          in_transit(copy("Split", nullptr, split_gradient)),
          copy("Pad", pad_law, pad_gradient),
          copy("Tile", tile_law, tile_gradient),
          copy("DepthToSpace", nullptr, depth_to_space_gradient),
          copy("SpaceToDepth", nullptr, space_to_depth_gradient),
          {.type = "Size",
           .domain = "",
           .content = content_of_size,
           .differentiable = Differentiable::zero,
           .flops = no_flops},
          {.type = "Range",
           .domain = "",
           .law = range_law,
           .content = content_of_range,
           .differentiable = Differentiable::zero,
           .flops = no_flops},
          {.type = "Shape",
           .domain = "",
           .content = content_of_shape,
           .differentiable = Differentiable::zero,
           .flops = no_flops},
          {.type = "SliceGrad",
           .domain = kOwnDomain,
           .no_body = kOnlyTrains,
           .signature = Signature{"Writes dy where Slice read; zeros elsewhere.",
                                  {{"dy"},
                                   {"shape", "I"},
                                   {"starts", "I"},
                                   {"ends", "I"},
                                   {"axes", "I", Arity::optional},
                                   {"steps", "I", Arity::optional}},
                                  {{"dx"}}},
           .law = slice_grad_law,
           .flops = no_flops,
           .narrow = {Narrow::follows}},
          pad_grad_op()};
}

}  // namespace lockstep
