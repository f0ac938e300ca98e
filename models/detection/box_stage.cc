// SPDX-License-Identifier: Apache-2.0
#include "models/detection/box_stage.h"

#include "builders/detection/coding.h"
#include "builders/detection/empty_places.h"
#include "builders/detection/losses.h"
#include "lockstep/operators.h"
#include "models/detection/detections.h"
#include "models/detection/pooled_rois.h"
#include "models/detection/position_head.h"
#include "models/detection/roi_sampling.h"
#include "operators/kit/operator_helpers.h"
#include "operators/loss/loss.h"

namespace lockstep {
namespace {

RoiPooling pooling_of(const FastRcnnOptions& options, const BoxHeadFunction& head) {
  return {options.roi_xform_method,
          head.resolution > 0 ? head.resolution : options.roi_xform_resolution,
          options.roi_xform_sampling_ratio};
}

BoxScores scores_of_features(Net& net, const DetectorOptions& options, const Feature& x) {
  const int64_t classes = options.model.num_classes;
  const int64_t coded = options.model.cls_agnostic_bbox_reg ? 2 : classes;
  const Value scores = fc_layer(net, x.x, classes, {.weight = gaussian(0.01F)}, "cls_score");
  return {scores, fc_layer(net, x.x, 4 * coded, {.weight = gaussian(0.001F)}, "bbox_pred")};
}

// The four numbers of each label's class, from deltas [I, F, 4 C] and labels [I, F].
Value deltas_of_labels(Graph& graph, Value deltas, Value labels, bool agnostic,
                       const std::string& name) {
  Value column = at_least_zero(graph, labels, name + "_class");
  if (agnostic) {
    const Value one = shared_integer(graph, 1);
    column = graph.add_value({.type = "Min", .inputs = {column, one}}, name + "_group");
  }
  const Value four = shared_integer(graph, 4);
  const Value first =
      reshape(graph, mul(graph, column, four, name + "_first"), {0, 0, 1}, name + "_column");
  const Value steps = graph.constant(name + "_steps", Literal::vector({0, 1, 2, 3}));
  return gather_elements(graph, deltas, add(graph, first, steps, name + "_index"), 2, name);
}

}  // namespace

BoxScores scores_of_boxes(Net& net, const DetectorOptions& options, ResidualHead& stage_5,
                          const BoxHeadFunction* head, const Features& features, PictureBoxes rois,
                          Value im_info) {
  if (!head) return position_scores(net, options, features.maps.front(), rois, im_info);
  const Feature pooled =
      pooled_rois(net, options, features, rois, im_info, pooling_of(options.fast_rcnn, *head),
                  features.pyramid() ? "roi_feat" : "pool5");
  return scores_of_features(net, options, head->build(net, options, stage_5, pooled));
}

void box_losses(Net& net, const DetectorOptions& options, const BoxScores& out,
                const SampledProposals& sample) {
  Graph& graph = net.graph;
  const int64_t images = graph.shape(sample.labels)[0].size();
  const int64_t places = graph.shape(sample.labels)[1].size();
  const auto foreground = foreground_rois(options.train);
  const Value labels = reshape(graph, sample.labels, {-1}, "roi_labels");
  const Value rois =
      reduce_sum(graph, present(graph, labels, "rois_labelled"), {}, false, "rois_counted");
  const bool shared = options.train.shared_normalisers;
  add_loss_over(net, "loss_cls", rois, shared, [&](const std::string& name) {
    return softmax_cross_entropy(graph, out.scores, labels, none,
                                 {.ignores = true, .ignore_index = -1}, name);
  });
  net.metric("accuracy_cls", label_accuracy(graph, out.scores, labels, "accuracy_cls"));

  // Objects are the first entries of each image. With a smaller threshold for boxes, any entry may
  // have a box to learn.
  const std::string name = "loss_bbox";
  const Value box_labels = sample.box_labels ? sample.box_labels : sample.labels;
  const bool any = sample.box_labels && options.train.bbox_thresh < options.train.fg_thresh;
  const auto first = [&](Value x, const char* ending) {
    return any ? x : slice(graph, x, 1, 0, foreground, name + ending);
  };
  const int64_t columns = graph.shape(out.deltas)[1].size();
  const Value of_images = reshape(graph, out.deltas, {images, places, columns}, name + "_images");
  const Value of_objects = first(box_labels, "_labels");
  const Value deltas = deltas_of_labels(graph, first(of_images, "_first"), of_objects,
                                        options.model.cls_agnostic_bbox_reg, name + "_deltas");
  const Value distance =
      smooth_l1(graph, deltas, first(sample.targets, "_targets"), 1, name + "_distance");
  const Value objects = is_object(graph, of_objects, name + "_objects");
  const Value sum = masked_sum(graph, distance, reshape(graph, objects, {0, 0, 1}, name + "_mask"),
                               name + "_sum");
  add_loss_over(net, name, rois, shared,
                [&](const std::string& as) { return per_count(graph, sum, rois, as); });
}

std::optional<Detections> box_outputs(Net& net, const DetectorOptions& options,
                                      const BoxScores& out, const Proposals& proposals,
                                      const DetectorInputs& in) {
  Graph& graph = net.graph;
  const int64_t classes = options.model.num_classes;
  const int64_t places = graph.shape(proposals.boxes.value)[1].size();
  const Value prob = softmax(graph, out.scores, 1, "cls_prob");
  const Value here =
      reshape(graph, present(graph, proposals.sources, "rois_present"), {0, 0, 1}, "rois_here");
  const Value scores =
      reshape(graph,
              mul(graph, reshape(graph, prob, {in.images, places, classes}, "cls_prob_images"),
                  here, "cls_prob_present"),
              {0, -1}, "cls_prob_candidates");
  Value boxes = reshape(graph, proposals.boxes.value, {in.images, places, 1, 4}, "rois_columns");
  if (options.test.bbox_reg) {
    const bool agnostic = options.model.cls_agnostic_bbox_reg;
    Value deltas = out.deltas;
    if (agnostic) deltas = slice(graph, deltas, 1, 4, 8, "bbox_pred_object");
    deltas =
        reshape(graph, deltas, {in.images, places, agnostic ? 1 : classes, 4}, "bbox_pred_columns");
    boxes = decode_boxes(graph, boxes, deltas,
                         {options.model.bbox_reg_weights, options.bbox_xform_clip}, "pred_boxes");
  }
  if (graph.shape(boxes)[2] == Dim(1)) {
    const Value shape =
        graph.constant("pred_boxes_shape", Literal::vector({in.images, places, classes, 4}));
    boxes = graph.add_value({.type = "Expand", .inputs = {boxes, shape}}, "pred_boxes_columns");
  }
  const PictureBoxes candidates(reshape(graph, boxes, {in.images, -1, 4}, "pred_boxes_candidates"));
  return output_detections(net, options, {candidates, scores, none, options.test.score_thresh}, in);
}

}  // namespace lockstep
