// SPDX-License-Identifier: Apache-2.0
#include "models/detection/detector.h"

#include "builders/detection/empty_places.h"
#include "graph/nearest.h"
#include "lockstep/operators.h"
#include "models/detection/box_stage.h"
#include "models/detection/catalogue.h"
#include "models/detection/fpn.h"
#include "models/detection/retinanet.h"

namespace lockstep {
namespace {

template <class Function>
const Function& built(const std::vector<Function>& functions, const char* key,
                      const std::string& name) {
  std::vector<std::string> names;
  for (const Function& function : functions) {
    if (!function.is_built()) continue;
    if (function.name == name) return function;
    names.push_back(function.name);
  }
  const std::string near = nearest(name, names);
  fail(key, ": '", name, "' is not built by this version",
       near.empty() ? "" : join("; the nearest supported name is '", near, "'"));
}

const BodyFunction& body_of(const DetectorOptions& options) {
  return built(body_functions(), "MODEL.CONV_BODY", options.model.conv_body);
}

const BoxHeadFunction& box_head_of(const DetectorOptions& options) {
  return built(box_head_functions(), "FAST_RCNN.ROI_BOX_HEAD", options.fast_rcnn.roi_box_head);
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

void build(Net& net, const DetectorOptions& options) {
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
  box_stage(net, options, body.residual, box_head_of(options).build, features, proposals, in);
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

void check_detector(const DetectorOptions& options) {
  check(options.model.num_classes >= 2 || options.model.rpn_only,
        "MODEL.NUM_CLASSES: ", options.model.num_classes,
        ", should be at least 2: background is one of them");
  check_residual_options(options);
  check_pyramid(options, body_of(options).top);
  check(!options.retinanet.retinanet_on || options.fpn.fpn_on,
        "RETINANET.RETINANET_ON needs FPN.FPN_ON");
  check(!options.model.rpn_only || options.rpn.rpn_on, "MODEL.RPN_ONLY needs RPN.RPN_ON");
  if (has_box_head(options)) {
    box_head_of(options);
    check(options.model.bbox_reg_weights.size() == 4,
          "MODEL.BBOX_REG_WEIGHTS: ", options.model.bbox_reg_weights.size(),
          " numbers, should be 4");
    const std::string& method = options.fast_rcnn.roi_xform_method;
    check(method == "RoIAlign" || method == "RoIPoolF", "FAST_RCNN.ROI_XFORM_METHOD: '", method,
          "', should be RoIAlign or RoIPoolF");
  }
  input_size(options, Mode::train);
  input_size(options, Mode::infer);
}

std::vector<std::string> left_out_of(const DetectorOptions& options) {
  std::vector<std::string> parts;
  if (options.model.mask_on) parts.emplace_back("the mask head (MODEL.MASK_ON)");
  if (options.model.keypoints_on) parts.emplace_back("the keypoint head (MODEL.KEYPOINTS_ON)");
  return parts;
}

}  // namespace lockstep
