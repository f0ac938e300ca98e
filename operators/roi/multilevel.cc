// SPDX-License-Identifier: Apache-2.0
// RoIs of all levels of a feature pyramid:
//   MultilevelRoiAlign     (rois, images, levels, features..) -> y
//   MultilevelRoiAlignGrad (dy, rois, images, levels, shapes of features..) -> dfeatures..
#include "lockstep/operators.h"
#include "operators/kit/body.h"
#include "operators/kit/flops.h"
#include "operators/roi/attributes.h"

namespace lockstep {
namespace {

// Indices of MultilevelRoiAlign's operands. Its gradient has the operand dy before them.
constexpr int kBoxes = 0;
constexpr std::size_t kImages = 1, kLevels = 2, kFeatures = 3;

// The attributes of MultilevelRoiAlign and of its gradient, for `levels` levels.
RoiAlignAttrs multilevel_attrs(Inference& inference, std::size_t levels) {
  const RoiAlignAttrs attrs = read_roi_align(inference.attributes);
  check(!attrs.max, "supports only mode avg");
  const std::vector<float> scales = inference.attributes.numbers("spatial_scales");
  inference.attributes.done();
  check(levels > 0, "has no feature map");
  check(scales.size() == levels, "has ", scales.size(), " spatial_scales for ", levels, " levels");
  for (const float scale : scales) check_roi_scale(scale);
  return attrs;
}

// Checks boxes, images and levels, which follow `before` operands. Returns the number of RoIs.
Dim demand_placed_rois(const Inference& inference, std::size_t before) {
  const Dim rois = demand_rois(inference, before + kBoxes, 4);
  demand_indices(inference, before + kImages, rois);
  demand_indices(inference, before + kLevels, rois);
  return rois;
}

void multilevel_law(Inference& inference) {
  inference.require_ranked();
  const std::size_t levels = inference.inputs.size() - std::min(inference.inputs.size(), kFeatures);
  const RoiAlignAttrs attrs = multilevel_attrs(inference, levels);
  const Dim rois = demand_placed_rois(inference, 0);
  demand_floats(inference, kFeatures);
  demand_dims(inference, kFeatures, 4);
  const TensorType& first = inference.input(kFeatures);
  for (std::size_t l = 1; l < levels; ++l) {
    demand_type(inference, kFeatures + l, first.dtype);
    demand_dims(inference, kFeatures + l, 4);
    const Shape& map = inference.input(kFeatures + l).shape;
    demand_shape(inference, kFeatures + l, {first.shape[0], first.shape[1], map[2], map[3]});
  }
  inference.outputs[0] = {first.dtype, pooled(rois, first.shape[1], attrs)};
}

void multilevel_grad_law(Inference& inference) {
  inference.require_ranked();
  const std::size_t shapes = 1 + kFeatures;
  const std::size_t levels = inference.inputs.size() - std::min(inference.inputs.size(), shapes);
  const RoiAlignAttrs attrs = multilevel_attrs(inference, levels);
  check(inference.outputs.size() == levels, "has ", inference.outputs.size(), " results for ",
        levels, " levels");
  const Dim rois = demand_placed_rois(inference, 1);
  demand_floats(inference, 0);
  demand_shape(inference, 0, pooled(rois, "?", attrs));
  const Shape& dy = inference.input(0).shape;
  std::optional<Shape> first;
  for (std::size_t l = 0; l < levels; ++l) {
    const auto shape = content_of(inference, shapes + l);
    inference.outputs[l] = {inference.input(0).dtype, shape.value_or(Shape{}), shape.has_value()};
    if (!shape) continue;
    check(shape->size() == 4, "level ", l, " has ", shape->size(), " dimensions, should have 4");
    if (!first) first = shape;
    check(may_be((*shape)[1], dy[1]), "level ", l, " is ", *shape, ", dy ", dy);
    check(may_be((*shape)[0], (*first)[0]), "level ", l, " is ", *shape, ", another ", *first);
  }
}

std::vector<Value> multilevel_gradient(const GradientRequest& r) {
  const std::size_t levels = r.node.inputs().size() - kFeatures;
  const Site site = gradient_site(r, kFeatures);
  AttributeReader reader = r.node.attributes();
  Attributes attributes = write_roi_align(read_roi_align(reader));
  attributes.push_back({"spatial_scales", reader.numbers("spatial_scales")});
  std::vector<Value> operands{r.dy[0], r.x(kBoxes), r.x(kImages), r.x(kLevels)};
  for (std::size_t l = 0; l < levels; ++l)
    operands.push_back(shape_of(r.graph, r.x(kFeatures + l), site));
  const Node node = r.graph.add({.type = "MultilevelRoiAlignGrad",
                                 .domain = kOwnDomain,
                                 .inputs = operands,
                                 .attributes = attributes,
                                 .outputs = static_cast<int>(levels)},
                                site);
  std::vector<Value> gradients(kFeatures, none);
  for (const Value dx : node.outputs()) gradients.push_back(dx);
  return gradients;
}

// Pools the RoIs of each level from the level's map. The results of all levels, one after the
// other, are then put into the order of the RoIs. A RoI without a level gets zeros, as a level
// without a map.
std::vector<Value> multilevel_body(const BodyRequest& r) {
  Graph& graph = r.graph;
  AttributeReader reader = r.node.attributes();
  const RoiAlignAttrs attrs = read_roi_align(reader);
  const std::vector<float> scales = reader.numbers("spatial_scales");
  const auto rows_of = [&](int64_t level) {
    const Value here = equal(graph, r.x(kLevels), shared_integer(graph, level));
    return reshape(graph, standard(graph, "NonZero", {here}), {-1});
  };
  const Value none_of_a_level = rows_of(-1);
  const Value one_empty = reshape(graph, size_of_axis(graph, none_of_a_level, 0), {1});
  const Value channels = reshape(graph, size_of_axis(graph, r.x(kFeatures), 1), {1});
  const Value size = graph.constant("size", Literal::vector({attrs.height, attrs.width}));
  std::vector<Value> rows{none_of_a_level},
      parts{standard(graph, "Expand",
                     {scalar_like(graph, r.x(kFeatures), 0, "zero"),
                      concat(graph, {one_empty, channels, size}, 0)})};
  for (std::size_t l = 0; l < scales.size(); ++l) {
    rows.push_back(rows_of(static_cast<int64_t>(l)));
    const auto picked = [&](Value x) { return gather(graph, x, rows.back(), 0); };
    parts.push_back(roi_align(graph, r.x(kFeatures + l), picked(r.x(kBoxes)), picked(r.x(kImages)),
                              scales[l], attrs));
  }
  const Value order = concat(graph, rows, 0);
  const Value places =
      standard(graph, "Range",
               {shared_integer(graph, 0), size_of_axis(graph, order, 0), shared_integer(graph, 1)});
  // The place of each RoI's result: the inverse of the order.
  const Value place_of = standard(graph, "ScatterElements", {order, order, places});
  const Value y = gather(graph, concat(graph, parts, 0), place_of, 0);
  const Dim rois = graph.shape(r.x(kBoxes))[0], depth = graph.shape(r.x(kFeatures))[1];
  if (!rois.known() || !depth.known()) return {y};
  return {reshape(graph, y, {rois.size(), depth.size(), attrs.height, attrs.width})};
}

Flops multilevel_flops(const Node& node) { return roi_align_flops(node, elements_out(node, 0)); }
Flops multilevel_grad_flops(const Node& node) {
  return roi_align_flops(node, elements_in(node, 0));
}

}  // namespace

Value multilevel_roi_align(Graph& graph, const std::vector<Value>& features, Value rois,
                           Value images, Value levels, const std::vector<float>& spatial_scales,
                           const RoiAlignAttrs& attrs, const Site& site) {
  check(!attrs.max, "MultilevelRoiAlign supports only mode avg");
  Attributes attributes = write_roi_align(attrs);
  attributes.push_back({"spatial_scales", spatial_scales});
  std::vector<Value> operands{rois, images, levels};
  operands.insert(operands.end(), features.begin(), features.end());
  return graph.add_value({.type = "MultilevelRoiAlign",
                          .domain = kOwnDomain,
                          .inputs = operands,
                          .attributes = attributes},
                         site);
}

std::vector<Op> multilevel_ops() {
  std::vector<FormalAttribute> attributes = roi_align_formals();
  attributes.push_back({"spatial_scales", AttributeKind::numbers, true});
  return {// Coordinates of boxes need more digits than 16-bit floats have.
          {.type = "MultilevelRoiAlign",
           .domain = kOwnDomain,
           .body = multilevel_body,
           .signature = Signature{"RoiAlign of each RoI on one of several feature maps.",
                                  {{"rois", "R"},
                                   {"images", "I"},
                                   {"levels", "I"},
                                   {"features", "T", Arity::variadic}},
                                  {{"y"}},
                                  attributes},
           .law = multilevel_law,
           .differentiable = Differentiable::yes,
           .gradient = multilevel_gradient,
           .flops = multilevel_flops,
           .narrow = {Narrow::follows, {kBoxes}}},
          {.type = "MultilevelRoiAlignGrad",
           .domain = kOwnDomain,
           .no_body = kOnlyTrains,
           .signature = Signature{"Gradient of MultilevelRoiAlign, for every feature map.",
                                  {{"dy"},
                                   {"rois", "R"},
                                   {"images", "I"},
                                   {"levels", "I"},
                                   {"shapes", "I", Arity::variadic}},
                                  {{"dfeatures", "T", Arity::variadic}},
                                  attributes},
           .law = multilevel_grad_law,
           .flops = multilevel_grad_flops,
           .narrow = {Narrow::follows, {kBoxes + 1}}},
          // Used only in the body: the number of a level's RoIs depends on the boxes.
          {.type = "NonZero", .domain = "", .differentiable = Differentiable::zero}};
}

}  // namespace lockstep
