// SPDX-License-Identifier: Apache-2.0
// The operators here select boxes; no gradient flows through the selection. IoU is
// the quotient rounded to float32, as in ONNX Runtime and torchvision: a box with an IoU equal to
// the threshold stays. A box with a width or height that is not positive (or NaN) has no area. It
// overlaps nothing: it is never dropped and never causes another box to be dropped.
#include "operators/boxes/boxes.h"

#include "operators/boxes/attributes.h"
#include "operators/boxes/bodies.h"
#include "operators/boxes/refining.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {
namespace {

void check_box_limits(float overlap, int64_t capacity) {
  check(overlap >= 0 && overlap <= 1, "the IoU threshold is ", overlap, ", should be in 0..1");
  check(capacity >= 0 && capacity <= INT32_MAX, "capacity is ", capacity);
}

// Checks operands 0 and 1, boxes [B, N, 4] and scores [B, N]. Returns B.
Dim demand_scored_boxes(Inference& inference) {
  inference.require_ranked();
  demand_dims(inference, 1, 2);
  const Shape& scores = inference.input(1).shape;
  demand_shape(inference, 0, {scores[0], scores[1], 4});
  demand_type(inference, 0, DType::float32);
  demand_type(inference, 1, DType::float32);
  return scores[0];
}

void box_suppression_law(Inference& inference) {
  const BoxSuppressionAttrs attrs = read_box_suppression(inference.attributes);
  check_box_limits(attrs.threshold, attrs.capacity);
  const Dim batch = demand_scored_boxes(inference);
  inference.outputs[0] = {DType::int64, {batch, attrs.capacity}};
  inference.outputs[1] = {DType::int64, {batch}};
}

void infer_detections(Inference& inference, const DetectionAttrs& attrs) {
  check_box_limits(attrs.overlap, attrs.capacity);
  check(attrs.classes >= 1 && attrs.classes <= INT32_MAX, "classes is ", attrs.classes);
  const Dim batch = demand_scored_boxes(inference);
  demand_shape(inference, 2, inference.input(1).shape);
  demand_type(inference, 2, DType::int64);
  inference.outputs[0] = {DType::float32, {batch, attrs.capacity, 4}};
  inference.outputs[1] = {DType::float32, {batch, attrs.capacity}};
  inference.outputs[2] = {DType::int64, {batch, attrs.capacity}};
  inference.outputs[3] = {DType::int64, {batch}};
}

void detection_results_law(Inference& inference) {
  infer_detections(inference, read_detection(inference.attributes));
}

void refined_detections_law(Inference& inference) {
  const RefinedAttrs attrs = read_refined(inference.attributes);
  suppression_method(attrs.method);
  if (!attrs.vote.empty()) vote_scoring(attrs.vote);
  check(attrs.sigma > 0, "sigma is ", attrs.sigma, ", should be more than 0");
  check(attrs.vote_overlap >= 0 && attrs.vote_overlap <= 1, "vote_overlap is ", attrs.vote_overlap,
        ", should be in 0..1");
  check(attrs.vote_beta >= 0, "vote_beta is ", attrs.vote_beta, ", should be at least 0");
  infer_detections(inference, attrs);
}

std::vector<Formal> detection_candidates() {
  return {{"boxes"}, {"scores"}, {"classes", "I", Arity::optional}};
}
std::vector<Formal> detection_outputs() {
  return {{"results"}, {"result_scores"}, {"result_classes", "I"}, {"count", "I"}};
}

}  // namespace

BoxSuppressionAttrs read_box_suppression(AttributeReader attributes) {
  BoxSuppressionAttrs attrs;
  attrs.threshold = attributes.number("threshold", attrs.threshold);
  attrs.capacity = attributes.integer("capacity", attrs.capacity);
  attributes.done();
  return attrs;
}

DetectionAttrs read_detection(AttributeReader attributes) {
  DetectionAttrs attrs;
  attrs.classes = attributes.integer("classes", attrs.classes);
  attrs.score_threshold = attributes.number("score_threshold", attrs.score_threshold);
  attrs.overlap = attributes.number("overlap", attrs.overlap);
  attrs.capacity = attributes.integer("capacity", attrs.capacity);
  attributes.done();
  return attrs;
}

RefinedAttrs read_refined(AttributeReader attributes) {
  RefinedAttrs attrs;
  attrs.classes = attributes.integer("classes", attrs.classes);
  attrs.score_threshold = attributes.number("score_threshold", attrs.score_threshold);
  attrs.overlap = attributes.number("overlap", attrs.overlap);
  attrs.capacity = attributes.integer("capacity", attrs.capacity);
  attrs.method = attributes.text("method", attrs.method);
  attrs.sigma = attributes.number("sigma", attrs.sigma);
  attrs.vote = attributes.text("vote", attrs.vote);
  attrs.vote_overlap = attributes.number("vote_overlap", attrs.vote_overlap);
  attrs.vote_beta = attributes.number("vote_beta", attrs.vote_beta);
  attributes.done();
  return attrs;
}

SuppressedBoxes box_suppression(Graph& graph, Value boxes, Value scores,
                                const BoxSuppressionAttrs& attrs, const Site& site) {
  const Node node =
      graph.add({.type = "BoxSuppression",
                 .domain = kOwnDomain,
                 .inputs = {boxes, scores},
                 .attributes = {{"threshold", attrs.threshold}, {"capacity", attrs.capacity}},
                 .outputs = 2},
                site);
  return {node.outputs()[0], node.outputs()[1]};
}

Detections detection_results(Graph& graph, Value boxes, Value scores, Value classes,
                             const DetectionAttrs& attrs, const Site& site) {
  const Node node = graph.add({.type = "DetectionResults",
                               .domain = kOwnDomain,
                               .inputs = {boxes, scores, classes},
                               .attributes = {{"classes", attrs.classes},
                                              {"score_threshold", attrs.score_threshold},
                                              {"overlap", attrs.overlap},
                                              {"capacity", attrs.capacity}},
                               .outputs = 4},
                              site);
  return {node.outputs()[0], node.outputs()[1], node.outputs()[2], node.outputs()[3]};
}

Detections refined_detections(Graph& graph, Value boxes, Value scores, Value classes,
                              const RefinedAttrs& attrs, const Site& site) {
  const Node node = graph.add({.type = "RefinedDetections",
                               .domain = kOwnDomain,
                               .inputs = {boxes, scores, classes},
                               .attributes = {{"classes", attrs.classes},
                                              {"score_threshold", attrs.score_threshold},
                                              {"overlap", attrs.overlap},
                                              {"capacity", attrs.capacity},
                                              {"method", attrs.method},
                                              {"sigma", attrs.sigma},
                                              {"vote", attrs.vote},
                                              {"vote_overlap", attrs.vote_overlap},
                                              {"vote_beta", attrs.vote_beta}},
                               .outputs = 4},
                              site);
  return {node.outputs()[0], node.outputs()[1], node.outputs()[2], node.outputs()[3]};
}

std::vector<Op> boxes_ops() {
  return {
      {.type = "BoxSuppression",
       .domain = kOwnDomain,
       .body = box_suppression_body,
       .signature =
           Signature{"Greedy non-maximum suppression: the best boxes [B, N, 4], none with a larger "
                     "IoU with a better box; -1 in empty slots.",
                     {{"boxes"}, {"scores"}},
                     {{"indices", "I"}, {"count", "I"}},
                     {{"threshold", AttributeKind::number}, {"capacity", AttributeKind::integer}}},
       .law = box_suppression_law,
       .differentiable = Differentiable::zero},
      {.type = "DetectionResults",
       .domain = kOwnDomain,
       .body = detection_results_body,
       .signature =
           Signature{"Suppression within each class, then the best results of all classes.",
                     detection_candidates(),
                     detection_outputs(),
                     {{"classes", AttributeKind::integer},
                      {"score_threshold", AttributeKind::number},
                      {"overlap", AttributeKind::number},
                      {"capacity", AttributeKind::integer}}},
       .law = detection_results_law,
       .differentiable = Differentiable::zero},
      {.type = "RefinedDetections",
       .domain = kOwnDomain,
       .no_body = "ONNX has neither soft suppression (TEST.SOFT_NMS) nor box voting "
                  "(TEST.BBOX_VOTE)",
       .signature =
           Signature{"Soft suppression within each class and box voting, then the best results of "
                     "all classes.",
                     detection_candidates(),
                     detection_outputs(),
                     {{"classes", AttributeKind::integer},
                      {"score_threshold", AttributeKind::number},
                      {"overlap", AttributeKind::number},
                      {"capacity", AttributeKind::integer},
                      {"method", AttributeKind::text},
                      {"sigma", AttributeKind::number},
                      {"vote", AttributeKind::text},
                      {"vote_overlap", AttributeKind::number},
                      {"vote_beta", AttributeKind::number}}},
       .law = refined_detections_law,
       .differentiable = Differentiable::zero},
      // Used only in bodies: the number of kept boxes depends on the boxes, and a plan has fixed
      // shapes.
      {.type = "NonMaxSuppression", .domain = "", .differentiable = Differentiable::zero}};
}

}  // namespace lockstep
