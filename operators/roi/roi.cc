// RoiAlign (x, rois, images) and MaxRoiPool (x, rois) are ONNX's. Of ours are
//   MultilevelRoiAlign     (rois, images, levels, features..) -> y
//   RoiAlignGrad           (dy, shape of x, rois, images, x) -> dx   x for a maximum only
//   MaxRoiPoolGrad         (dy, x, rois) -> dx
//   MultilevelRoiAlignGrad (dy, rois, images, levels, shapes of features..) -> dfeatures..
// In standard operators a MultilevelRoiAlign is one RoiAlign a level, with images of -1 replaced,
// joined by Where on the level; the gradients have no such form.
#include "operators/roi/roi.h"

#include <cmath>

#include "operators/kit/room.h"
#include "operators/shape/shape.h"

namespace lockstep {
namespace {

// Positions of MultilevelRoiAlign's operands; its gradient has dy before them.
constexpr int kBoxes = 0;
constexpr std::size_t kImages = 1, kLevels = 2, kFeatures = 3;

constexpr int64_t kMostPoints = 65536;

void check_scale(float scale) {
  check(scale > 0 && std::isfinite(scale), "spatial_scale is ", scale, ", should be above 0");
}

void check_size(int64_t height, int64_t width) {
  check(height > 0 && width > 0, "the output is ", height, " x ", width,
        ", should be at least 1 x 1");
}

// The number of RoIs; boxes have `columns` numbers.
Dim demand_rois(const Inference& inference, std::size_t i, int columns) {
  demand_dims(inference, i, 2);
  const Dim count = inference.input(i).shape[0];
  demand_shape(inference, i, {count, columns});
  return count;
}

void demand_indices(const Inference& inference, std::size_t i, const Dim& count) {
  demand_type(inference, i, DType::int64);
  demand_dims(inference, i, 1);
  demand_shape(inference, i, {count});
}

void demand_floats(const Inference& inference, std::size_t i) {
  check(is_floating(inference.input(i).dtype), what_is(inference, i), ", should be of floats");
}

Shape pooled(const Dim& rois, const Dim& channels, const RoiAlignAttrs& attrs) {
  return {rois, channels, attrs.height, attrs.width};
}

// Of operators that pool means only; others add the mode.
Attributes write_roi_align(const RoiAlignAttrs& attrs) {
  return {
      {"output_height", attrs.height},
      {"output_width", attrs.width},
      {"sampling_ratio", attrs.sampling_ratio},
      {"coordinate_transformation_mode", attrs.half_pixel ? "half_pixel" : "output_half_pixel"}};
}

// -- RoiAlign

void roi_align_law(Inference& inference) {
  inference.require_ranked();
  const RoiAlignAttrs attrs = read_roi_align(inference.attributes);
  check_scale(inference.attributes.number("spatial_scale", 1));
  inference.attributes.done();
  demand_dims(inference, 0, 4);
  const Dim rois = demand_rois(inference, 1, 4);
  demand_indices(inference, 2, rois);
  const TensorType& x = inference.input(0);
  demand_type(inference, 1, x.dtype);
  inference.outputs[0] = {x.dtype, pooled(rois, x.shape[1], attrs)};
}

void roi_align_grad_law(Inference& inference) {
  inference.require_ranked();
  const RoiAlignAttrs attrs = read_roi_align(inference.attributes);
  check_scale(inference.attributes.number("spatial_scale", 1));
  inference.attributes.done();
  shape_from_operand(inference);
  demand_floats(inference, 0);
  demand_dims(inference, 0, 4);
  const Dim rois = demand_rois(inference, 2, 4);
  demand_type(inference, 2, inference.input(0).dtype);
  demand_indices(inference, 3, rois);
  const bool has_x = inference.inputs.size() > 4 && inference.inputs[4];
  check(has_x || !attrs.max, "the gradient of a maximum needs x");
  demand_shape(inference, 0, pooled(rois, "?", attrs));
  const TensorType& dx = inference.outputs[0];
  if (!dx.ranked) return;
  check(dx.shape.size() == 4, "x has ", dx.shape.size(), " dimensions, should have 4");
  demand_shape(inference, 0, pooled(rois, dx.shape[1], attrs));
  if (!has_x) return;
  demand_type(inference, 4, dx.dtype);
  demand_shape(inference, 4, dx.shape);
}

std::vector<Value> roi_align_gradient(const GradientRequest& r) {
  const Site site = gradient_site(r, 0);
  AttributeReader reader = r.node.attributes();
  const RoiAlignAttrs attrs = read_roi_align(reader);
  Attributes attributes = write_roi_align(attrs);
  attributes.push_back({"mode", attrs.max ? "max" : "avg"});
  attributes.push_back({"spatial_scale", reader.number("spatial_scale", 1)});
  std::vector<Value> operands{r.dy[0], shape_of(r.graph, r.x(0), site), r.x(1), r.x(2)};
  if (attrs.max) operands.push_back(r.x(0));
  return {r.graph.add_value({.type = "RoiAlignGrad",
                             .domain = kOwnDomain,
                             .inputs = operands,
                             .attributes = attributes},
                            site),
          none, none};
}

// -- MaxRoiPool

std::vector<int64_t> pooled_shape(Inference& inference) {
  const std::vector<int64_t> size = inference.attributes.integers("pooled_shape");
  check(size.size() == 2, "pooled_shape has ", size.size(), " entries, should have 2");
  check_size(size[0], size[1]);
  check_scale(inference.attributes.number("spatial_scale", 1));
  inference.attributes.done();
  return size;
}

void max_roi_pool_law(Inference& inference) {
  inference.require_ranked();
  const auto size = pooled_shape(inference);
  demand_dims(inference, 0, 4);
  const Dim rois = demand_rois(inference, 1, 5);
  const TensorType& x = inference.input(0);
  demand_type(inference, 1, x.dtype);
  inference.outputs[0] = {x.dtype, {rois, x.shape[1], size[0], size[1]}};
}

void max_roi_pool_grad_law(Inference& inference) {
  inference.require_ranked();
  const auto size = pooled_shape(inference);
  demand_dims(inference, 1, 4);
  const TensorType& x = inference.input(1);
  demand_floats(inference, 1);
  const Dim rois = demand_rois(inference, 2, 5);
  demand_type(inference, 2, x.dtype);
  demand_type(inference, 0, x.dtype);
  demand_shape(inference, 0, {rois, x.shape[1], size[0], size[1]});
  inference.outputs[0] = x;
}

std::vector<Value> max_roi_pool_gradient(const GradientRequest& r) {
  AttributeReader reader = r.node.attributes();
  const auto size = reader.integers("pooled_shape");
  return {r.graph.add_value({.type = "MaxRoiPoolGrad",
                             .domain = kOwnDomain,
                             .inputs = {r.dy[0], r.x(0), r.x(1)},
                             .attributes = {{"pooled_shape", size},
                                            {"spatial_scale", reader.number("spatial_scale", 1)}}},
                            gradient_site(r, 0)),
          none};
}

// -- MultilevelRoiAlign

// The attributes of it and its gradient, for so many levels.
RoiAlignAttrs multilevel_attrs(Inference& inference, std::size_t levels) {
  const RoiAlignAttrs attrs = read_roi_align(inference.attributes);
  check(!attrs.max, "pools means only");
  const std::vector<float> scales = inference.attributes.numbers("spatial_scales");
  inference.attributes.done();
  check(levels > 0, "has no feature map");
  check(scales.size() == levels, "has ", scales.size(), " spatial_scales for ", levels, " levels");
  for (const float scale : scales) check_scale(scale);
  return attrs;
}

// Boxes, images and levels, with `before` operands before them; the number of RoIs.
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

}  // namespace

RoiAlignAttrs read_roi_align(AttributeReader& attributes) {
  RoiAlignAttrs attrs{attributes.integer("output_height", 1), attributes.integer("output_width", 1),
                      attributes.integer("sampling_ratio", 0)};
  check_size(attrs.height, attrs.width);
  check(attrs.sampling_ratio >= 0 && attrs.sampling_ratio <= kMostPoints, "sampling_ratio is ",
        attrs.sampling_ratio, ", should be 0 to ", kMostPoints);
  const std::string mode = attributes.text("coordinate_transformation_mode", "half_pixel");
  check(mode == "half_pixel" || mode == "output_half_pixel", "coordinate_transformation_mode is '",
        mode, "', should be half_pixel or output_half_pixel");
  attrs.half_pixel = mode == "half_pixel";
  const std::string pooling = attributes.text("mode", "avg");
  check(pooling == "avg" || pooling == "max", "mode is '", pooling, "', should be avg or max");
  attrs.max = pooling == "max";
  return attrs;
}

Value roi_align(Graph& graph, Value x, Value rois, Value images, float spatial_scale,
                const RoiAlignAttrs& attrs, const Site& site) {
  Attributes attributes = write_roi_align(attrs);
  attributes.push_back({"mode", attrs.max ? "max" : "avg"});
  attributes.push_back({"spatial_scale", spatial_scale});
  return graph.add_value(
      {.type = "RoiAlign", .inputs = {x, rois, images}, .attributes = attributes}, site);
}

Value max_roi_pool(Graph& graph, Value x, Value rois, int64_t height, int64_t width,
                   float spatial_scale, const Site& site) {
  return graph.add_value({.type = "MaxRoiPool",
                          .inputs = {x, rois},
                          .attributes = {{"pooled_shape", std::vector<int64_t>{height, width}},
                                         {"spatial_scale", spatial_scale}}},
                         site);
}

Value multilevel_roi_align(Graph& graph, const std::vector<Value>& features, Value rois,
                           Value images, Value levels, const std::vector<float>& spatial_scales,
                           const RoiAlignAttrs& attrs, const Site& site) {
  check(!attrs.max, "MultilevelRoiAlign pools means only");
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

std::vector<Op> roi_ops() {
  using enum AttributeKind;
  const std::vector<FormalAttribute> bins{{"output_height", integer},
                                          {"output_width", integer},
                                          {"sampling_ratio", integer},
                                          {"coordinate_transformation_mode", text}};
  std::vector<FormalAttribute> of_one = bins, of_many = bins;
  of_one.insert(of_one.end(), {{"mode", text}, {"spatial_scale", number}});
  of_many.push_back({"spatial_scales", numbers, true});
  return {{.type = "RoiAlign",
           .domain = "",
           .law = roi_align_law,
           .differentiable = Differentiable::yes,
           .gradient = roi_align_gradient},
          {.type = "MaxRoiPool",
           .domain = "",
           .law = max_roi_pool_law,
           .differentiable = Differentiable::yes,
           .gradient = max_roi_pool_gradient},
          {.type = "RoiAlignGrad",
           .domain = kOwnDomain,
           .signature =
               Signature{
                   "Gradient of RoiAlign.",
                   {{"dy"}, {"shape", "I"}, {"rois"}, {"images", "I"}, {"x", "T", Arity::optional}},
                   {{"dx"}},
                   of_one},
           .law = roi_align_grad_law},
          {.type = "MaxRoiPoolGrad",
           .domain = kOwnDomain,
           .signature = Signature{"Each bin's dy goes to its first maximum.",
                                  {{"dy"}, {"x"}, {"rois"}},
                                  {{"dx"}},
                                  {{"pooled_shape", integers, true}, {"spatial_scale", number}}},
           .law = max_roi_pool_grad_law},
          // Coordinates of boxes need more digits than 16-bit floats have.
          {.type = "MultilevelRoiAlign",
           .domain = kOwnDomain,
           .signature = Signature{"RoiAlign of each RoI on one of several feature maps.",
                                  {{"rois", "R"},
                                   {"images", "I"},
                                   {"levels", "I"},
                                   {"features", "T", Arity::variadic}},
                                  {{"y"}},
                                  of_many},
           .law = multilevel_law,
           .differentiable = Differentiable::yes,
           .gradient = multilevel_gradient,
           .narrow = {Narrow::follows, {kBoxes}}},
          {.type = "MultilevelRoiAlignGrad",
           .domain = kOwnDomain,
           .signature = Signature{"Gradient of MultilevelRoiAlign, for every feature map.",
                                  {{"dy"},
                                   {"rois", "R"},
                                   {"images", "I"},
                                   {"levels", "I"},
                                   {"shapes", "I", Arity::variadic}},
                                  {{"dfeatures", "T", Arity::variadic}},
                                  of_many},
           .law = multilevel_grad_law,
           .narrow = {Narrow::follows, {kBoxes + 1}}}};
}

}  // namespace lockstep
