// SPDX-License-Identifier: Apache-2.0
#include "models/detection/detector.h"

#include "builders/detection/empty_places.h"
#include "lockstep/operators.h"
#include "models/detection/fpn.h"
#include "models/detection/named_function.h"
#include "models/detection/position_head.h"
#include "models/detection/retinanet.h"
#include "models/detection/roi_maps.h"
#include "models/detection/second_stage.h"

namespace lockstep {
namespace {

const BodyFunction& body_of(const DetectorOptions& options) {
  return function_named_by("MODEL.CONV_BODY", body_functions(), options.model.conv_body);
}

const BoxHeadFunction& box_head_of(const DetectorOptions& options) {
  return function_named_by("FAST_RCNN.ROI_BOX_HEAD", box_head_functions(),
                           options.fast_rcnn.roi_box_head);
}

Features features_of(Net& net, const DetectorOptions& options, const BodyFunction& body,
                     Value data) {
  const std::vector<Feature> stages = body.build(net, options, body.residual, data);
  Features features;
  if (body.top == Top::pyramid)
    features = feature_pyramid(net, options, stages);
  else if (body.top == Top::finest_of_pyramid)
    features = finest_of_pyramid(net, options, stages);
  else
    features.maps = {stages.back()};
  net.fixed = false;  // layers after the body are never frozen
  return features;
}

// Outputs of a network with proposals only: boxes and scores, best first, and their count.
void output_proposals(Net& net, const Proposals& proposals) {
  Graph& graph = net.graph;
  net.output("boxes", proposals.boxes.value);
  net.output("scores", sigmoid(graph, proposals.logits, "rpn_roi_probs"));
  const Value here = present(graph, proposals.sources, "rpn_rois_present");
  net.output("count", cast(graph, reduce_sum(graph, here, {1}, false, "rpn_rois_count_float"),
                           DType::int64, "rpn_rois_count"));
}

void predict_maps(Net& net, const DetectorOptions& options) {
  const Value data = image_input(net, options);
  output_roi_maps(net, options, features_of(net, options, body_of(options), data));
}

void predict_shapes(Net& net, const DetectorOptions& options) {
  const BodyFunction& body = body_of(options);
  // Only the shapes of these maps matter.
  Graph graph(net.graph.ops());
  Net traced(graph, Mode::infer);
  const Features features = features_of(traced, options, body, image_input(traced, options));
  shapes_of_fed_boxes(net, options, body.residual, fed_roi_maps(net, options, features, graph));
}

void build(Net& net, const DetectorOptions& options) {
  const Predicts part = net.training() ? Predicts::all : options.test.predicts;
  if (part == Predicts::maps) return predict_maps(net, options);
  if (part == Predicts::shapes) return predict_shapes(net, options);
  const BodyFunction& body = body_of(options);
  const DetectorInputs in = detector_inputs(net, options);
  const Features features = features_of(net, options, body, in.data);
  if (options.retinanet.retinanet_on) return retinanet(net, options, features, in);
  Proposals proposals;
  if (options.rpn.rpn_on) {
    const std::vector<AnchorHead> levels = rpn_heads(net, options, features);
    if (net.training()) rpn_losses(net, options, levels, in);
    if (options.model.rpn_only && net.training()) return;
    proposals = rpn_proposals(net, options, levels, in);
    if (options.model.rpn_only) return output_proposals(net, proposals);
  } else {
    proposals = fed_proposals(net, in);
  }
  const BoxHeadFunction* const head = scores_by_position(options) ? nullptr : &box_head_of(options);
  second_stage(net, options, body.residual, head, features, proposals, in);
  if (part == Predicts::boxes_and_maps) output_roi_maps(net, options, features);
}

void check_pyramid(const DetectorOptions& o, Top top) {
  const FpnOptions& fpn = o.fpn;
  check(!fpn.fpn_on || top != Top::stage, "MODEL.CONV_BODY: ", o.model.conv_body,
        " has no feature pyramid, but FPN.FPN_ON is true");
  check(fpn.fpn_on || top != Top::pyramid, "MODEL.CONV_BODY: ", o.model.conv_body,
        " is a feature pyramid; set FPN.FPN_ON: true");
  if (!fpn.fpn_on) {
    check(!fpn.multilevel_rpn && !fpn.multilevel_rois,
          "FPN.MULTILEVEL_RPN and FPN.MULTILEVEL_ROIS need FPN.FPN_ON");
    return;
  }
  const PyramidLevels levels = pyramid_levels(fpn);
  check(levels.first >= 2 && levels.first <= levels.last, "FPN: the levels ", levels.first, " to ",
        levels.last, " should ascend and begin at level 2 or above");
  check(levels.last <= 5 + (fpn.extra_conv_levels ? 8 : 1), "FPN.RPN_MAX_LEVEL: level ",
        levels.last, " needs FPN.EXTRA_CONV_LEVELS");
  check(fpn.coarsest_stride >= (int64_t{1} << levels.last) || levels.last == 6,
        "FPN.COARSEST_STRIDE: ", fpn.coarsest_stride, ", but level ", levels.last,
        " has a stride of ", int64_t{1} << levels.last);
}

}  // namespace

ModelFn detector(const DetectorOptions& options) {
  check_detector(options);
  return [options](Net& net) { build(net, options); };
}

bool has_box_head(const DetectorOptions& options) {
  return !options.model.rpn_only && !options.retinanet.retinanet_on;
}

bool has_mask_head(const DetectorOptions& options) {
  return has_box_head(options) && options.model.mask_on;
}

bool has_keypoint_head(const DetectorOptions& options) {
  return has_box_head(options) && options.model.keypoints_on;
}

void check_detector(const DetectorOptions& options) {
  check(options.model.num_classes >= 2 || options.model.rpn_only,
        "MODEL.NUM_CLASSES: ", options.model.num_classes,
        ", should be at least 2: background is one of them");
  check_residual_options(options);
  check_pyramid(options, body_of(options).top);
  check(!options.retinanet.retinanet_on || options.fpn.fpn_on,
        "RETINANET.RETINANET_ON needs FPN.FPN_ON");
  check(!options.model.rpn_only || options.rpn.rpn_on, "MODEL.RPN_ONLY needs RPN.RPN_ON");
  if (has_box_head(options))
    check(options.model.bbox_reg_weights.size() == 4,
          "MODEL.BBOX_REG_WEIGHTS: ", options.model.bbox_reg_weights.size(),
          " numbers, should be 4");
  if (scores_by_position(options)) {
    check(!options.fpn.fpn_on, "MODEL.TYPE: ", options.model.type,
          " reads one feature map, but FPN.FPN_ON is true");
    check(!options.model.rpn_only, "MODEL.TYPE: ", options.model.type,
          " has a second stage, which MODEL.RPN_ONLY leaves out");
  } else if (has_box_head(options)) {
    const BoxHeadFunction& head = box_head_of(options);
    check(!head.is_stage_5 || body_of(options).is_residual(), "FAST_RCNN.ROI_BOX_HEAD: ", head.name,
          " is stage 5 of a ResNet, and MODEL.CONV_BODY ", options.model.conv_body,
          " is no ResNet");
    const std::string& method = options.fast_rcnn.roi_xform_method;
    check(method == "RoIAlign" || method == "RoIPoolF", "FAST_RCNN.ROI_XFORM_METHOD: '", method,
          "', should be RoIAlign or RoIPoolF");
  }
  if (has_shape_heads(options)) {
    const char* const key = options.model.mask_on ? "MODEL.MASK_ON" : "MODEL.KEYPOINTS_ON";
    check(has_box_head(options) && !scores_by_position(options), key,
          " is true, but the network has no RoI heads: ",
          options.model.rpn_only ? "MODEL.RPN_ONLY is true" : "MODEL.TYPE is ",
          options.model.rpn_only ? "" : options.model.type);
    check_shape_heads(options, body_of(options), &box_head_of(options));
  }
  input_size(options, Mode::train);
  input_size(options, Mode::infer);
}

}  // namespace lockstep
