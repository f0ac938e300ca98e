// SPDX-License-Identifier: Apache-2.0
// Resize (x, roi, scales, sizes): sizes or scales determine the output; a plan must know their
// values.
//   ResizeGrad (dy, shape of x, roi, scales) -> dx   adds each gradient to its source positions
#include "operators/resize/resize.h"

#include <cmath>

#include "lockstep/operators.h"
#include "operators/kit/flops.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {
namespace {

bool holds_values(const Inference& inference, std::size_t i) {
  return i < inference.inputs.size() && inference.inputs[i] && inference.constants[i] &&
         inference.constants[i]->count() > 0;
}

// Positions are divided by scales, so scales must be above 0.
void check_scales(const Inference& inference, std::size_t operand, std::size_t dims) {
  if (!holds_values(inference, operand)) return;
  const auto scales = inference.constants[operand]->values<float>();
  check(scales.size() == dims, "has ", scales.size(), " scales for ", dims, " dimensions");
  for (float scale : scales)
    check(scale > 0 && std::isfinite(scale), "has a scale ", scale, ", should be above 0");
}

// Throws if an empty dimension becomes larger: there is nothing to sample.
void check_not_from_nothing(const Shape& before, const Shape& after) {
  for (std::size_t d = 0; d < before.size(); ++d)
    check(!before[d].known() || before[d].size() > 0 || may_be(after[d], before[d]), "dimension ",
          d, " has size 0, cannot become ", after[d].size());
}

void resize_grad_law(Inference& inference) {
  shape_from_operand(inference);
  const TensorType &x = inference.outputs[0], &dy = inference.input(0);
  if (!x.ranked || !dy.ranked) return;
  demand_dims(inference, 0, x.shape.size());
  check_scales(inference, 3, x.shape.size());
  check_not_from_nothing(x.shape, dy.shape);
}

// ONNX 1.12 infers the output from scales but ignores the region of interest.
void resize_law(Inference& inference) {
  inference.require_ranked();
  const Shape& x = inference.input(0).shape;
  TensorType& y = inference.outputs[0];
  y = {inference.input(0).dtype, Shape(x.size(), Dim("?"))};
  check_scales(inference, 2, x.size());
  if (holds_values(inference, 1))
    check(inference.constants[1]->count() == static_cast<int64_t>(2 * x.size()), "its region has ",
          inference.constants[1]->count(), " ends for ", x.size(), " dimensions");
  if (auto sizes = content_of(inference, 3); sizes && !sizes->empty()) {
    y.shape = *sizes;
  } else if (holds_values(inference, 2)) {
    auto scales = inference.constants[2]->values<float>();
    const bool crops =
        inference.attributes.text("coordinate_transformation_mode", "") == "tf_crop_and_resize";
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (scales[i] == 1 && !crops) y.shape[i] = x[i];
      if (!x[i].known()) continue;
      double size = static_cast<double>(x[i].size());
      if (crops && holds_values(inference, 1)) {
        auto roi = inference.constants[1]->values<float>();
        size *= roi[x.size() + i] - roi[i];
      }
      const double scaled = std::floor(size * scales[i]);
      check(scaled >= 0 && scaled < 9e15, "scale ", scales[i], " changes a dimension of ",
            x[i].size(), " to ", scaled);
      y.shape[i] = static_cast<int64_t>(scaled);
    }
  }
  check(y.shape.size() == x.size(), "sizes has ", y.shape.size(), " entries for ", x.size(),
        " dimensions");
  check_not_from_nothing(x, y.shape);
}

std::vector<Value> resize_gradient(const GradientRequest& r) {
  AttributeReader reader = r.node.attributes();
  Site site = gradient_site(r, 0);
  Attributes attributes;
  for (const char* name : {"mode", "coordinate_transformation_mode", "nearest_mode"})
    if (reader.has(name)) attributes.push_back({name, reader.text(name, "")});
  for (const char* name : {"cubic_coeff_a", "extrapolation_value"})
    if (reader.has(name)) attributes.push_back({name, reader.number(name, 0)});
  if (reader.has("exclude_outside"))
    attributes.push_back({"exclude_outside", reader.integer("exclude_outside", 0)});
  std::vector<Value> operands{r.dy[0], shape_of(r.graph, r.x(0), site)};
  for (std::size_t i = 1; i < 3; ++i)
    operands.push_back(i < r.node.inputs().size() ? r.x(i) : none);
  return {r.graph.add_value(
      {.type = "ResizeGrad", .domain = kOwnDomain, .inputs = operands, .attributes = attributes},
      site)};
}

// A weighted sum of the positions around each place, by the definition: two positions for linear,
// four for cubic interpolation along each dimension whose size changes.
Flops interpolation_flops(const Node& node, Value small, Value large) {
  AttributeReader attributes = node.attributes();
  const std::string mode = attributes.text("mode", "nearest");
  const double along = mode == "linear" ? 2 : mode == "cubic" ? 4 : 0;
  if (along == 0) return {};
  const Graph& graph = node.graph();
  double taps = 1;
  for (std::size_t axis = 0; axis < graph.type(large).shape.size(); ++axis)
    if (extent_of(graph, small, axis) != extent_of(graph, large, axis)) taps *= along;
  return {.others = 2 * taps * elements_of(graph, large)};
}
Flops resize_flops(const Node& node) {
  return interpolation_flops(node, node.inputs()[0], node.outputs()[0]);
}
Flops resize_grad_flops(const Node& node) {
  return interpolation_flops(node, node.outputs()[0], node.inputs()[0]);
}

}  // namespace

Value resize_images(Graph& graph, Value x, int64_t height, int64_t width, ResizeMode mode,
                    const Site& site) {
  const Shape shape = graph.shape(x);
  check(shape.size() == 4, site.name, " (", site.where.text(), "): the images are ", shape,
        ", should be [batch, channels, height, width]");
  const auto part = [&](const char* ending) { return Site(site.name + ending, site.where); };
  const auto constant = [&](const std::vector<int64_t>& sizes, const char* ending) {
    return graph.constant(site.name + ending, Literal::vector(sizes));
  };
  Value sizes;
  if (shape[0].known() && shape[1].known()) {
    sizes = constant({shape[0].size(), shape[1].size(), height, width}, "_sizes");
  } else {
    const Value first = slice(graph, shape_of(graph, x, part("_shape")), 0, 0, 2, part("_first"));
    sizes = concat(graph, {first, constant({height, width}, "_last")}, 0, part("_sizes"));
  }
  const char* const modes[] = {"nearest", "linear", "cubic"};
  return graph.add_value({.type = "Resize",
                          .inputs = {x, none, none, sizes},
                          .attributes = {{"mode", modes[static_cast<int>(mode)]},
                                         {"coordinate_transformation_mode", "half_pixel"},
                                         {"cubic_coeff_a", -0.75F}}},
                         site);
}

std::vector<Op> resize_ops() {
  return {{.type = "Resize",
           .domain = "",
           .law = resize_law,
           .differentiable = Differentiable::yes,
           .gradient = resize_gradient,
           .flops = resize_flops,
           .narrow = {Narrow::follows, {1, 2}}},
          {.type = "ResizeGrad",
           .domain = kOwnDomain,
           .no_body = kOnlyTrains,
           .signature = Signature{"Gradient of Resize.",
                                  {{"dy"},
                                   {"shape", "I"},
                                   {"roi", "R", Arity::optional},
                                   {"scales", "R", Arity::optional}},
                                  {{"dx"}},
                                  {{"mode", AttributeKind::text},
                                   {"coordinate_transformation_mode", AttributeKind::text},
                                   {"nearest_mode", AttributeKind::text},
                                   {"cubic_coeff_a", AttributeKind::number},
                                   {"extrapolation_value", AttributeKind::number},
                                   {"exclude_outside", AttributeKind::integer}}},
           .law = resize_grad_law,
           .flops = resize_grad_flops,
           .narrow = {Narrow::follows, {1, 2, 3}}}};
}

}  // namespace lockstep
