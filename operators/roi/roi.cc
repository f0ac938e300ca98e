// SPDX-License-Identifier: Apache-2.0
// RoiAlign (x, rois, images) and MaxRoiPool (x, rois) are ONNX's operators. Their gradients are
// Lockstep's:
//   RoiAlignGrad   (dy, shape of x, rois, images, x) -> dx   x for a maximum only
//   MaxRoiPoolGrad (dy, x, rois) -> dx
#include "operators/roi/roi.h"

#include "lockstep/operators.h"
#include "operators/kit/flops.h"
#include "operators/roi/attributes.h"

namespace lockstep {
namespace {

// -- RoiAlign

void roi_align_law(Inference& inference) {
  inference.require_ranked();
  const RoiAlignAttrs attrs = read_roi_align(inference.attributes);
  check_roi_scale(inference.attributes.number("spatial_scale", 1));
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
  check_roi_scale(inference.attributes.number("spatial_scale", 1));
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
  check_pooled_size(size[0], size[1]);
  check_roi_scale(inference.attributes.number("spatial_scale", 1));
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

Flops forward_flops(const Node& node) { return roi_align_flops(node, elements_out(node, 0)); }
Flops backward_flops(const Node& node) { return roi_align_flops(node, elements_in(node, 0)); }

}  // namespace

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

std::vector<Op> roi_ops() {
  using enum AttributeKind;
  std::vector<FormalAttribute> of_one = roi_align_formals();
  of_one.insert(of_one.end(), {{"mode", text}, {"spatial_scale", number}});
  std::vector<Op> ops{
      {.type = "RoiAlign",
       .domain = "",
       .law = roi_align_law,
       .differentiable = Differentiable::yes,
       .gradient = roi_align_gradient,
       .flops = forward_flops},
      {.type = "MaxRoiPool",
       .domain = "",
       .law = max_roi_pool_law,
       .differentiable = Differentiable::yes,
       .gradient = max_roi_pool_gradient},
      {.type = "RoiAlignGrad",
       .domain = kOwnDomain,
       .no_body = kOnlyTrains,
       .signature =
           Signature{
               "Gradient of RoiAlign.",
               {{"dy"}, {"shape", "I"}, {"rois"}, {"images", "I"}, {"x", "T", Arity::optional}},
               {{"dx"}},
               of_one},
       .law = roi_align_grad_law,
       .flops = backward_flops},
      {.type = "MaxRoiPoolGrad",
       .domain = kOwnDomain,
       .no_body = kOnlyTrains,
       .signature = Signature{"Each bin's dy goes to its first maximum.",
                              {{"dy"}, {"x"}, {"rois"}},
                              {{"dx"}},
                              {{"pooled_shape", integers, true}, {"spatial_scale", number}}},
       .law = max_roi_pool_grad_law,
       .flops = per_operand<1>}};
  for (const std::vector<Op>& more : {multilevel_ops(), position_ops()})
    ops.insert(ops.end(), more.begin(), more.end());
  return ops;
}

}  // namespace lockstep
