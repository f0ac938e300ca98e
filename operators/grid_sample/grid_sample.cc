// SPDX-License-Identifier: Apache-2.0
// GridSample (x, grid) -> y. ONNX's operator of opset 17 is for images; Lockstep's operator of the
// same name is for volumes and lines. The gradients are
//   GridSampleGradX    (dy, shape of x, grid) -> dx
//   GridSampleGradGrid (dy, x, grid) -> dgrid
#include "operators/grid_sample/grid_sample.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "lockstep/operators.h"
#include "operators/kit/flops.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {
namespace {

// Checks the grid in operand 1 or 2 against x [images, channels, size..]. Returns the shape of y.
Shape sampled(Inference& inference, const Shape& x, std::size_t operand) {
  read_grid_rule(inference.attributes);
  const auto axes = static_cast<int64_t>(x.size()) - 2;
  check(axes >= 1 && axes <= kMostGridAxes, "the data has ", x.size(),
        " dimensions, should have 3 to ", kMostGridAxes + 2);
  demand_dims(inference, operand, x.size());
  Shape expected = inference.input(operand).shape, y = expected;
  expected.front() = x[0];
  expected.back() = axes;
  demand_shape(inference, operand, expected);
  y.pop_back();
  y[0] = x[0];
  y.insert(y.begin() + 1, x[1]);
  return y;
}

void grid_sample_law(Inference& inference) {
  const TensorType& x = inference.input(0);
  if (!x.ranked || !inference.input(1).ranked) return;
  inference.outputs[0] = {x.dtype, sampled(inference, x.shape, 1), true};
}

void own_grid_sample_law(Inference& inference) {
  inference.require_ranked();
  grid_sample_law(inference);
}

void grad_x_law(Inference& inference) {
  shape_from_operand(inference);
  const TensorType& x = inference.outputs[0];
  if (x.ranked && inference.input(2).ranked)
    demand_shape(inference, 0, sampled(inference, x.shape, 2));
}

void grad_grid_law(Inference& inference) {
  inference.outputs[0] = inference.input(2);
  const TensorType& x = inference.input(1);
  if (x.ranked && inference.input(2).ranked)
    demand_shape(inference, 0, sampled(inference, x.shape, 2));
}

template <std::size_t kCount>
int number_of(const std::array<const char*, kCount>& names, const std::string& name,
              const char* attribute, const char* should) {
  const auto found = std::find(names.begin(), names.end(), name);
  check(found != names.end(), attribute, " is '", name, "', should be ", should);
  return static_cast<int>(found - names.begin());
}

std::vector<Value> grid_sample_gradient(const GradientRequest& r) {
  AttributeReader reader = r.node.attributes();
  const Attributes attributes{{"mode", reader.text("mode", "bilinear")},
                              {"padding_mode", reader.text("padding_mode", "zeros")},
                              {"align_corners", reader.integer("align_corners", 0)}};
  const auto add = [&](const char* type, Value second, std::size_t operand) {
    return r.graph.add_value({.type = type,
                              .domain = kOwnDomain,
                              .inputs = {r.dy[0], second, r.x(1)},
                              .attributes = attributes},
                             gradient_site(r, operand));
  };
  std::vector<Value> dx(2);
  if (r.wanted[0])
    dx[0] = add("GridSampleGradX", shape_of(r.graph, r.x(0), gradient_site(r, 0)), 0);
  // The nearest pixel changes in steps, so its slope is zero.
  if (r.wanted[1] && read_grid_rule(r.node.attributes()).mode != GridMode::nearest)
    dx[1] = add("GridSampleGradGrid", r.x(0), 1);
  return dx;
}

std::vector<FormalAttribute> formals() {
  return {{"mode", AttributeKind::text},
          {"padding_mode", AttributeKind::text},
          {"align_corners", AttributeKind::integer}};
}

}  // namespace

GridRule read_grid_rule(AttributeReader attributes) {
  GridRule rule;
  std::string mode = attributes.text("mode", "bilinear");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  rule.mode = static_cast<GridMode>(number_of(std::array{"nearest", "linear", "cubic"}, mode,
                                              "mode", "nearest, bilinear or bicubic"));
  rule.padding = static_cast<GridPadding>(number_of(std::array{"zeros", "border", "reflection"},
                                                    attributes.text("padding_mode", "zeros"),
                                                    "padding_mode", "zeros, border or reflection"));
  rule.align_corners = attributes.integer("align_corners", 0) != 0;
  return rule;
}

GridProblem::GridProblem(AttributeReader attributes, const Dims& x, const Dims& grid)
    : rule(read_grid_rule(std::move(attributes))),
      axes(static_cast<int>(x.size()) - 2),
      images(x[0]),
      channels(x[1]) {
  points = 1;
  for (std::size_t d = 1; d + 1 < grid.size(); ++d) points *= grid[d];
  for (int d = 0; d < axes; ++d) {
    size[d] = x[static_cast<std::size_t>(d) + 2];
    plane *= size[d];
  }
}

namespace {

// Each place is a weighted sum of the pixels around it. The gradient by the grid has a product with
// a slope for each axis.
template <std::size_t sampled, bool by_grid>
Flops grid_flops(const Node& node) {
  const Value values = sampled == 0 ? node.outputs()[0] : node.inputs()[0];
  const auto axes = static_cast<double>(node.graph().type(values).shape.size()) - 2;
  const GridMode mode = read_grid_rule(node.attributes()).mode;
  const double along = mode == GridMode::linear ? 2 : mode == GridMode::cubic ? 4 : 1;
  return {.others =
              2 * std::pow(along, axes) * (by_grid ? axes : 1) * elements_of(node.graph(), values)};
}
constexpr FlopRule kSampled = grid_flops<0, false>, kSampledBack = grid_flops<1, false>,
                   kSampledGrid = grid_flops<1, true>;

}  // namespace

std::vector<Op> grid_sample_ops() {
  return {{.type = "GridSample",
           .domain = "",
           .law = grid_sample_law,
           .differentiable = Differentiable::yes,
           .gradient = grid_sample_gradient,
           .flops = kSampled},
          {.type = "GridSample",
           .domain = kOwnDomain,
           .no_body = "opset 17 samples images only, not volumes",
           .signature = Signature{"GridSample of volumes [N,C,D,H,W] or lines [N,C,W].",
                                  {{"x"}, {"grid", "R"}},
                                  {{"y"}},
                                  formals()},
           .law = own_grid_sample_law,
           .differentiable = Differentiable::yes,
           .gradient = grid_sample_gradient,
           .flops = kSampled},
          {.type = "GridSampleGradX",
           .domain = kOwnDomain,
           .no_body = kOnlyTrains,
           .signature = Signature{"Gradient of GridSample by the data.",
                                  {{"dy"}, {"shape", "I"}, {"grid", "R"}},
                                  {{"dx"}},
                                  formals()},
           .law = grad_x_law,
           .flops = kSampledBack},
          {.type = "GridSampleGradGrid",
           .domain = kOwnDomain,
           .no_body = kOnlyTrains,
           .signature = Signature{"Gradient of GridSample by the grid.",
                                  {{"dy"}, {"x"}, {"grid", "R"}},
                                  {{"dgrid", "R"}},
                                  formals()},
           .law = grad_grid_law,
           .flops = kSampledGrid}};
}

}  // namespace lockstep
