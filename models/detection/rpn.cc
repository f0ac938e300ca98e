// SPDX-License-Identifier: Apache-2.0
#include "models/detection/rpn.h"

#include <cmath>

#include "builders/detection/anchors.h"
#include "builders/detection/coding.h"
#include "builders/detection/coordinates.h"
#include "builders/detection/empty_places.h"
#include "builders/detection/losses.h"
#include "lockstep/operators.h"
#include "models/detection/resnet_body.h"
#include "models/detection/shared_layers.h"
#include "operators/boxes/boxes.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {
namespace {

constexpr double kBeta = 1.0 / 9;  // beta of the smooth L1 loss

// Limits that differ between training and prediction.
struct ProposalLimits {
  int64_t before, after;
  double overlap, min_size;
};
ProposalLimits proposal_limits(const DetectorOptions& o, bool training) {
  if (training)
    return {o.train.rpn_pre_nms_top_n, o.train.rpn_post_nms_top_n, o.train.rpn_nms_thresh,
            o.train.rpn_min_size};
  return {o.test.rpn_pre_nms_top_n, o.test.rpn_post_nms_top_n, o.test.rpn_nms_thresh,
          o.test.rpn_min_size};
}

// Replaces the scores of boxes that are too small by the score of empty slots. `min_size` is in
// pixels of the picture, between the first and the last pixel of the box.
Value without_small(Graph& graph, Value scores, InputBoxes boxes, Value im_info, double min_size,
                    const std::string& name) {
  const Value size = box_sides(graph, boxes.value, name + "_size");
  const Value steps = mul(graph, scale_of_images(graph, im_info, name),
                          shared_number(graph, std::max(min_size, 1.0) - 1), name + "_steps");
  const Value limit = add(graph, steps, shared_number(graph, 1), name + "_limit");
  const Value side =
      graph.add_value({.type = "ReduceMin",
                       .inputs = {size},
                       .attributes = {{"axes", std::vector<int64_t>{2}}, {"keepdims", int64_t{1}}}},
                      name + "_side");
  const Value smaller = graph.add_value({.type = "Less", .inputs = {side, limit}}, name + "_small");
  return graph.add_value({.type = "Where",
                          .inputs = {reshape(graph, smaller, {0, -1}, name + "_drop"),
                                     score_of_empty_places(graph), scores}},
                         name);
}

struct LevelProposals {
  InputBoxes boxes;
  Value logits, sources;
};
LevelProposals proposals_of(Net& net, const DetectorOptions& options, const AnchorHead& level,
                            const DetectorInputs& in, Limits<InputBoxes> limits,
                            int64_t first_anchor) {
  Graph& graph = net.graph;
  const ProposalLimits limit = proposal_limits(options, net.training());
  const std::string name = "rpn_rois" + level.suffix;
  auto [scores, places] = best_of(graph, flatten(graph, level.logits, 1, name + "_logits"),
                                  limit.before, name + "_best");
  const Value deltas = at_places(graph, level.deltas, places, 4, name + "_deltas");
  const Value anchors = anchors_at(graph, level.anchors, level.logits, places, name + "_anchors");
  const InputBoxes decoded(decode_boxes(graph, anchors, deltas,
                                        {.log_limit = options.bbox_xform_clip}, name + "_decoded"));
  const InputBoxes boxes = clip_boxes(graph, decoded, limits, name + "_clipped");
  if (limit.min_size > 0)
    scores = without_small(graph, scores, boxes, in.im_info, limit.min_size, name + "_large");
  const Value kept = box_suppression(graph, boxes.value, scores,
                                     {.threshold = static_cast<float>(limit.overlap),
                                      .capacity = capacity_within(graph, scores, limit.after)},
                                     name + "_kept")
                         .indices;
  const Value row = at_least_zero(graph, kept, name + "_row");
  const auto picked = [&](Value x, const std::string& as) {
    return gather_elements(graph, x, row, 1, as);
  };
  const Value gap = is_empty(graph, kept, name + "_gap");
  const auto unless_empty = [&](Value x, Value otherwise, const std::string& as) {
    return graph.add_value({.type = "Where", .inputs = {gap, otherwise, x}}, as);
  };
  Value source = picked(places, name + "_place");
  if (first_anchor > 0)
    source = add(graph, source, shared_integer(graph, first_anchor), name + "_number");
  return {InputBoxes(rows_at(graph, boxes.value, kept, name)),
          unless_empty(picked(scores, name + "_score"), score_of_empty_places(graph),
                       "rpn_roi_logits" + level.suffix),
          unless_empty(source, shared_integer(graph, -1), name + "_source")};
}

}  // namespace

std::vector<AnchorHead> rpn_heads(Net& net, const DetectorOptions& options,
                                  const Features& features) {
  const bool pyramid = options.fpn.multilevel_rpn;
  const int64_t first = pyramid ? options.fpn.rpn_min_level : 0;
  const int64_t last = pyramid ? options.fpn.rpn_max_level : 0;
  SharedLayers layers(net);
  std::vector<AnchorHead> levels;
  for (int64_t number = first; number <= last; ++number) {
    const Feature& feature = pyramid ? features.level(number) : features.maps.front();
    const std::string suffix = pyramid ? join("_fpn", number) : "";
    const double octaves = std::exp2(static_cast<double>(number - first));
    const std::vector<float> base =
        pyramid ? base_anchors(static_cast<double>(feature.stride),
                               {options.fpn.rpn_anchor_start_size * octaves},
                               options.fpn.rpn_aspect_ratios)
                : base_anchors(static_cast<double>(feature.stride), options.rpn.sizes,
                               options.rpn.aspect_ratios);
    const int64_t anchors = static_cast<int64_t>(base.size()) / 4;
    const auto conv = [&](Value x, const std::string& name, int64_t channels, int64_t kernel) {
      return layers.conv(x, channels,
                         {.kernel = kernel, .pad = kernel / 2, .weight = gaussian(0.01F)},
                         {name, name + suffix});
    };
    const Value hidden =
        relu_in_place(net, conv(feature.x, "conv_rpn", feature.channels, 3), "conv_rpn" + suffix);
    const Value logits = conv(hidden, "rpn_cls_logits", anchors, 1);
    const Value deltas = conv(hidden, "rpn_bbox_pred", 4 * anchors, 1);
    levels.push_back(anchor_head(net.graph, base, feature.stride, logits, deltas, suffix));
  }
  return levels;
}

void rpn_losses(Net& net, const DetectorOptions& options, const std::vector<AnchorHead>& levels,
                const DetectorInputs& in) {
  Graph& graph = net.graph;
  const DetectionTrainOptions& train = options.train;
  AnchorTargetsAttrs attrs;
  attrs.positive_overlap = static_cast<float>(train.rpn_positive_overlap);
  attrs.negative_overlap = static_cast<float>(train.rpn_negative_overlap);
  attrs.straddle = static_cast<float>(train.rpn_straddle_thresh);
  attrs.sample = train.rpn_batch_size_per_im;
  attrs.foreground = static_cast<int64_t>(train.rpn_fg_fraction *
                                          static_cast<double>(train.rpn_batch_size_per_im));
  attrs.levels = anchors_of(levels);
  const std::vector<SampledAnchors> sampled = sampled_anchor_targets(
      graph, truth_on_input(graph, in), in.im_info, in.image_number, attrs, "rpn_targets");

  std::vector<Value> counted;  // by level: [I, S], 1 for sampled anchors, 0 for empty slots
  for (std::size_t i = 0; i < levels.size(); ++i)
    counted.push_back(present(graph, sampled[i].labels, "rpn_counted" + levels[i].suffix));
  const Value all =
      counted.size() == 1 ? counted[0] : concat(graph, counted, 1, "rpn_counted_levels");
  const Value of_image = reduce_sum(graph, all, {1}, false, "rpn_examples");

  const bool pyramid = options.fpn.multilevel_rpn;
  const double images = static_cast<double>(in.images);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const std::string& suffix = levels[i].suffix;
    const SampledAnchors& s = sampled[i];
    const std::string cls = "loss_rpn_cls" + suffix, bbox = "loss_rpn_bbox" + suffix;
    const Value objects = is_label(graph, s.labels, 1, cls + "_objects");
    const Value entropy = sigmoid_cross_entropy(
        graph, at_places(graph, levels[i].logits, s.places, 1, cls + "_logits"), objects,
        cls + "_entropy");
    const Value sum = masked_sum(graph, entropy, counted[i], cls + "_sum");
    // For a pyramid, Detectron divides by the capacity of the sample, including empty slots.
    const Value share =
        shared_number(graph, 1 / (images * static_cast<double>(train.rpn_batch_size_per_im)));
    if (pyramid) {
      net.loss(cls, mul(graph, sum, share, cls));
    } else {
      const Value places = reduce_sum(graph, of_image, {}, false, cls + "_places");
      add_loss_over(net, cls, places, train.shared_normalisers,
                    [&](const std::string& name) { return per_count(graph, sum, places, name); });
    }

    const Value distance =
        smooth_l1(graph, at_places(graph, levels[i].deltas, s.places, 4, bbox + "_deltas"),
                  s.targets, kBeta, bbox + "_distance");
    const Value each = reduce_sum(
        graph,
        mul(graph, distance, reshape(graph, objects, {0, 0, 1}, bbox + "_mask"), bbox + "_kept"),
        {1, 2}, false, bbox + "_image");
    const Value weighted = per_count(graph, each, of_image, bbox + "_share");
    net.loss(bbox, reduce_mean(graph, weighted, {0}, false, bbox));
  }
}

Proposals rpn_proposals(Net& net, const DetectorOptions& options,
                        const std::vector<AnchorHead>& levels, const DetectorInputs& in) {
  Graph& graph = net.graph;
  const Limits<InputBoxes> limits = input_limits(graph, in.im_info, "rpn_limits");
  std::vector<Value> boxes, logits, sources;
  int64_t first_anchor = 0;
  for (const AnchorHead& level : levels) {
    const LevelProposals found = proposals_of(net, options, level, in, limits, first_anchor);
    boxes.push_back(found.boxes.value);
    logits.push_back(found.logits);
    sources.push_back(found.sources);
    // Predictions only ask if a slot is empty; the numbers of maps of open size all start at 0.
    first_anchor += anchors_of(level.anchors);
  }
  LevelProposals all{InputBoxes(boxes[0]), logits[0], sources[0]};
  if (levels.size() > 1) {
    // Selects the best proposals of all levels.
    const Value scores = concat(graph, logits, 1, "rpn_roi_logits_levels");
    const auto [best, rows] =
        best_of(graph, scores, proposal_limits(options, net.training()).after, "rpn_roi_logits");
    all = {InputBoxes(
               rows_at(graph, concat(graph, boxes, 1, "rpn_rois_levels"), rows, "rpn_rois_best")),
           best,
           gather_elements(graph, concat(graph, sources, 1, "rpn_rois_source_levels"), rows, 1,
                           "rpn_rois_source")};
  }
  return {to_picture(graph, all.boxes, in.im_info, "rpn_rois_picture"), all.logits, all.sources};
}

Proposals fed_proposals(Net& net, const DetectorInputs& in) {
  return {in.proposals, none, numbers_of_boxes(net.graph, in.proposals.value, "proposals")};
}

}  // namespace lockstep
