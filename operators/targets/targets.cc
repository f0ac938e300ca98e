// SPDX-License-Identifier: Apache-2.0
// AnchorTargets (gt_boxes, gt_classes, gt_crowd, im_info, image_number) -> for each level
//   sample > 0: places, labels, targets of the sampled anchors; draws from its stream by image
//   sample = 0: labels, targets of all anchors; after all levels, counts
// ProposalTargets (proposals, sources, gt_boxes, gt_classes, gt_crowd, image_number)
//   -> rois, labels, targets, matches, with box_overlap also box_labels; draws from its stream by
//   image
// MaskTargets (rois, matches, gt_vertices, gt_vertex_of) -> masks
// KeypointTargets (rois, matches, gt_keypoints) -> places
// None has a body in standard operators, which draw no numbers by image, cannot repeat a draw, and
// draw no polygons. No gradient flows through the selection.
#include "operators/targets/targets.h"

#include "operators/kit/operator_helpers.h"
#include "operators/targets/attributes.h"

namespace lockstep {
namespace {

// The number of images and the capacity for true boxes of operands first, first + 1 and first + 2.
struct TruthSizes {
  Dim images, places;
};

TruthSizes demand_truth(const Inference& inference, std::size_t first) {
  demand_type(inference, first, DType::float32);
  demand_dims(inference, first, 3);
  const Shape& boxes = inference.input(first).shape;
  demand_shape(inference, first, {boxes[0], boxes[1], 4});
  for (const std::size_t i : {first + 1, first + 2}) {
    demand_type(inference, i, DType::int64);
    demand_shape(inference, i, {boxes[0], boxes[1]});
  }
  return {boxes[0], boxes[1]};
}

void demand_image_numbers(const Inference& inference, std::size_t i, const Dim& images) {
  demand_type(inference, i, DType::int64);
  demand_shape(inference, i, {images});
}

void anchor_targets_law(Inference& inference) {
  inference.require_ranked();
  const AnchorTargetsAttrs attrs = read_anchor_targets(inference.attributes);
  const Dim images = demand_truth(inference, 0).images;
  demand_type(inference, 3, DType::float32);
  demand_shape(inference, 3, {images, 3});
  demand_image_numbers(inference, 4, images);
  std::vector<TensorType> results;
  for (const AnchorLevel& level : attrs.levels) {
    if (attrs.sample > 0) {
      results.push_back({DType::int64, {images, attrs.sample}});
      results.push_back({DType::int64, {images, attrs.sample}});
      results.push_back({DType::float32, {images, attrs.sample, 4}});
    } else {
      const int64_t anchors = anchors_of_a_cell(attrs);
      results.push_back({DType::int64, {images, anchors, level.height, level.width}});
      results.push_back({DType::float32, {images, anchors * 4, level.height, level.width}});
    }
  }
  if (attrs.sample == 0) results.push_back({DType::int64, {2}});
  check(inference.outputs.size() == results.size(), "has ", inference.outputs.size(),
        " outputs, should have ", results.size(), " for ", attrs.levels.size(), " levels");
  inference.outputs = results;
}

void proposal_targets_law(Inference& inference) {
  inference.require_ranked();
  const ProposalTargetsAttrs attrs = read_proposal_targets(inference.attributes);
  demand_type(inference, 0, DType::float32);
  demand_dims(inference, 0, 3);
  const Shape& proposals = inference.input(0).shape;
  demand_shape(inference, 0, {proposals[0], proposals[1], 4});
  demand_type(inference, 1, DType::int64);
  demand_shape(inference, 1, {proposals[0], proposals[1]});
  demand_shape(inference, 2, {proposals[0], demand_truth(inference, 2).places, 4});
  demand_image_numbers(inference, 5, proposals[0]);
  const Dim& images = proposals[0];
  inference.outputs[0] = {DType::float32, {images, attrs.sample, 4}};
  inference.outputs[1] = {DType::int64, {images, attrs.sample}};
  inference.outputs[2] = {DType::float32, {images, attrs.sample, 4}};
  inference.outputs[3] = {DType::int64, {images, attrs.sample}};
  const std::size_t outputs = attrs.box_overlap > 0 ? 5 : 4;
  check(inference.outputs.size() == outputs, "has ", inference.outputs.size(),
        " outputs, should have ", outputs, " with box_overlap ", attrs.box_overlap);
  if (outputs == 5) inference.outputs[4] = {DType::int64, {images, attrs.sample}};
}

struct RoiSizes {
  Dim images, rois;
};

// RoIs and their matches: operands 0 and 1.
RoiSizes demand_matched_rois(const Inference& inference) {
  demand_type(inference, 0, DType::float32);
  demand_dims(inference, 0, 3);
  const Shape& rois = inference.input(0).shape;
  demand_shape(inference, 0, {rois[0], rois[1], 4});
  demand_type(inference, 1, DType::int64);
  demand_shape(inference, 1, {rois[0], rois[1]});
  return {rois[0], rois[1]};
}

void mask_targets_law(Inference& inference) {
  inference.require_ranked();
  const int64_t side = read_mask_targets(inference.attributes).resolution;
  const auto [images, rois] = demand_matched_rois(inference);
  demand_type(inference, 2, DType::float32);
  demand_dims(inference, 2, 3);
  const Dim vertices = inference.input(2).shape[1];
  demand_shape(inference, 2, {images, vertices, 2});
  demand_type(inference, 3, DType::int64);
  demand_shape(inference, 3, {images, vertices, 2});
  inference.outputs[0] = {DType::int64, {images, rois, side, side}};
}

void keypoint_targets_law(Inference& inference) {
  inference.require_ranked();
  read_keypoint_targets(inference.attributes);
  const auto [images, rois] = demand_matched_rois(inference);
  demand_type(inference, 2, DType::float32);
  demand_dims(inference, 2, 4);
  const Shape& points = inference.input(2).shape;
  demand_shape(inference, 2, {images, points[1], points[2], 3});
  inference.outputs[0] = {DType::int64, {images, rois, points[2]}};
}

Node add_anchor_targets(Graph& graph, const TrueBoxes& truth, Value im_info, Value image_number,
                        const AnchorTargetsAttrs& attrs, int outputs, const Site& site) {
  return graph.add({.type = "AnchorTargets",
                    .domain = kOwnDomain,
                    .inputs = {truth.boxes, truth.classes, truth.crowd, im_info, image_number},
                    .attributes = write_anchor_targets(attrs),
                    .outputs = outputs},
                   site);
}

}  // namespace

std::vector<SampledAnchors> sampled_anchor_targets(Graph& graph, const TrueBoxes& truth,
                                                   Value im_info, Value image_number,
                                                   const AnchorTargetsAttrs& attrs,
                                                   const Site& site) {
  check(attrs.sample > 0, "sample is ", attrs.sample, ", should be positive");
  const Node node = add_anchor_targets(graph, truth, im_info, image_number, attrs,
                                       3 * static_cast<int>(attrs.levels.size()), site);
  std::vector<SampledAnchors> levels;
  for (std::size_t i = 0; i < node.outputs().size(); i += 3)
    levels.push_back({node.outputs()[i], node.outputs()[i + 1], node.outputs()[i + 2]});
  return levels;
}

DenseAnchorTargets dense_anchor_targets(Graph& graph, const TrueBoxes& truth, Value im_info,
                                        Value image_number, const AnchorTargetsAttrs& attrs,
                                        const Site& site) {
  AnchorTargetsAttrs dense = attrs;
  dense.sample = dense.foreground = 0;
  const Node node = add_anchor_targets(graph, truth, im_info, image_number, dense,
                                       2 * static_cast<int>(attrs.levels.size()) + 1, site);
  DenseAnchorTargets targets;
  for (std::size_t i = 0; i + 1 < node.outputs().size(); i += 2)
    targets.levels.push_back({node.outputs()[i], node.outputs()[i + 1]});
  targets.counts = node.outputs().back();
  return targets;
}

SampledProposals proposal_targets(Graph& graph, Value proposals, Value sources,
                                  const TrueBoxes& truth, Value image_number,
                                  const ProposalTargetsAttrs& attrs, const Site& site) {
  const Node node = graph.add(
      {.type = "ProposalTargets",
       .domain = kOwnDomain,
       .inputs = {proposals, sources, truth.boxes, truth.classes, truth.crowd, image_number},
       .attributes = write_proposal_targets(attrs),
       .outputs = attrs.box_overlap > 0 ? 5 : 4},
      site);
  return {node.outputs()[0], node.outputs()[1], node.outputs()[2], node.outputs()[3],
          attrs.box_overlap > 0 ? node.outputs()[4] : none};
}

Value mask_targets(Graph& graph, Value rois, Value matches, const TrueShapes& shapes,
                   const MaskTargetsAttrs& attrs, const Site& site) {
  return graph.add_value({.type = "MaskTargets",
                          .domain = kOwnDomain,
                          .inputs = {rois, matches, shapes.vertices, shapes.vertex_of},
                          .attributes = write_mask_targets(attrs)},
                         site);
}

Value keypoint_targets(Graph& graph, Value rois, Value matches, const TrueShapes& shapes,
                       const KeypointTargetsAttrs& attrs, const Site& site) {
  return graph.add_value({.type = "KeypointTargets",
                          .domain = kOwnDomain,
                          .inputs = {rois, matches, shapes.keypoints},
                          .attributes = write_keypoint_targets(attrs)},
                         site);
}

std::vector<Op> targets_ops() {
  const Formal boxes{"gt_boxes", "R"}, classes{"gt_classes", "I"}, crowd{"gt_crowd", "I"};
  return {
      {.type = "AnchorTargets",
       .domain = kOwnDomain,
       .no_body = kOnlyTrains,
       .signature =
           Signature{"The anchors of each level that count in a loss, their labels and box deltas.",
                     {boxes, classes, crowd, {"im_info", "R"}, {"image_number", "I"}},
                     {{"targets", "T", Arity::variadic}},
                     {{"anchors", AttributeKind::numbers, true},
                      {"strides", AttributeKind::integers, true},
                      {"heights", AttributeKind::integers, true},
                      {"widths", AttributeKind::integers, true},
                      {"positive_overlap", AttributeKind::number},
                      {"negative_overlap", AttributeKind::number},
                      {"straddle", AttributeKind::number},
                      {"sample", AttributeKind::integer},
                      {"foreground", AttributeKind::integer}}},
       .law = anchor_targets_law,
       .differentiable = Differentiable::zero,
       .random = true,
       .draws = true,
       .draws_by_example = true},
      {.type = "ProposalTargets",
       .domain = kOwnDomain,
       .no_body = kOnlyTrains,
       .signature =
           Signature{
               "Sampled proposals and true boxes, with their labels and box deltas.",
               {{"proposals", "R"}, {"sources", "I"}, boxes, classes, crowd, {"image_number", "I"}},
               {{"rois", "R"},
                {"labels", "I"},
                {"targets", "R"},
                {"matches", "I"},
                {"box_labels", "I", Arity::optional}},
               {{"sample", AttributeKind::integer},
                {"foreground", AttributeKind::integer},
                {"foreground_overlap", AttributeKind::number},
                {"background_high", AttributeKind::number},
                {"background_low", AttributeKind::number},
                {"crowd_overlap", AttributeKind::number},
                {"weights", AttributeKind::numbers},
                {"box_overlap", AttributeKind::number}}},
       .law = proposal_targets_law,
       .differentiable = Differentiable::zero,
       .random = true,
       .draws = true,
       .draws_by_example = true},
      {.type = "MaskTargets",
       .domain = kOwnDomain,
       .no_body = kOnlyTrains,
       .signature =
           Signature{"The mask of each RoI's object, drawn from rings of vertices.",
                     {{"rois", "R"}, {"matches", "I"}, {"gt_vertices", "R"}, {"gt_vertex_of", "I"}},
                     {{"masks", "I"}},
                     {{"resolution", AttributeKind::integer}}},
       .law = mask_targets_law,
       .differentiable = Differentiable::zero},
      {.type = "KeypointTargets",
       .domain = kOwnDomain,
       .no_body = kOnlyTrains,
       .signature = Signature{"The cells of an object's points in the heatmaps of its RoIs.",
                              {{"rois", "R"}, {"matches", "I"}, {"gt_keypoints", "R"}},
                              {{"places", "I"}},
                              {{"size", AttributeKind::integer}}},
       .law = keypoint_targets_law,
       .differentiable = Differentiable::zero}};
}

}  // namespace lockstep
