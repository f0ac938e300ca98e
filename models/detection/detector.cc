// SPDX-License-Identifier: Apache-2.0
#include "models/detection/detector.h"

#include "builders/detection/coding.h"
#include "graph/nearest.h"
#include "models/detection/box_stage.h"
#include "models/detection/fpn.h"
#include "models/detection/retinanet.h"
#include "operators/activation/activation.h"
#include "operators/elementwise/elementwise.h"
#include "operators/reduce/reduce.h"

namespace lockstep {
namespace {

enum class Top { stage, pyramid, finest_of_pyramid };

struct NamedBody {
  const char* name;
  ResidualBody body;
  Top top;
};
const NamedBody kBodies[] = {
    {"ResNet.add_ResNet18_conv4_body", {{2, 2, 2, 2}, 4}, Top::stage},
    {"ResNet.add_ResNet34_conv4_body", {{3, 4, 6, 3}, 4}, Top::stage},
    {"ResNet.add_ResNet50_conv4_body", {{3, 4, 6, 3}, 4}, Top::stage},
    {"ResNet.add_ResNet101_conv4_body", {{3, 4, 23, 3}, 4}, Top::stage},
    {"ResNet.add_ResNet18_conv5_body", {{2, 2, 2, 2}, 5}, Top::stage},
    {"ResNet.add_ResNet34_conv5_body", {{3, 4, 6, 3}, 5}, Top::stage},
    {"ResNet.add_ResNet50_conv5_body", {{3, 4, 6, 3}, 5}, Top::stage},
    {"ResNet.add_ResNet101_conv5_body", {{3, 4, 23, 3}, 5}, Top::stage},
    {"ResNet.add_ResNet152_conv5_body", {{3, 8, 36, 3}, 5}, Top::stage},
    {"FPN.add_fpn_ResNet18_conv5_body", {{2, 2, 2, 2}, 5}, Top::pyramid},
    {"FPN.add_fpn_ResNet34_conv5_body", {{3, 4, 6, 3}, 5}, Top::pyramid},
    {"FPN.add_fpn_ResNet50_conv5_body", {{3, 4, 6, 3}, 5}, Top::pyramid},
    {"FPN.add_fpn_ResNet101_conv5_body", {{3, 4, 23, 3}, 5}, Top::pyramid},
    {"FPN.add_fpn_ResNet152_conv5_body", {{3, 8, 36, 3}, 5}, Top::pyramid},
    {"FPN.add_fpn_ResNet50_conv5_P2only_body", {{3, 4, 6, 3}, 5}, Top::finest_of_pyramid},
    {"FPN.add_fpn_ResNet101_conv5_P2only_body", {{3, 4, 23, 3}, 5}, Top::finest_of_pyramid},
    {"FPN.add_fpn_ResNet152_conv5_P2only_body", {{3, 8, 36, 3}, 5}, Top::finest_of_pyramid}};

struct NamedHead {
  const char* name;
  BoxHead head;
};
const NamedHead kBoxHeads[] = {{"ResNet.add_ResNet_roi_conv5_head", box_head_residual},
                               {"fast_rcnn_heads.add_roi_2mlp_head", box_head_2mlp},
                               {"fast_rcnn_heads.add_roi_Xconv1fc_head", box_head_convs_fc},
                               {"fast_rcnn_heads.add_roi_Xconv1fc_gn_head", box_head_convs_gn_fc}};

template <class Row, std::size_t N>
std::vector<std::string> names_of(const Row (&rows)[N]) {
  std::vector<std::string> names;
  for (const Row& row : rows) names.push_back(row.name);
  return names;
}

template <class Row, std::size_t N>
const Row& row_named(const Row (&rows)[N], const char* key, const std::string& name) {
  for (const Row& row : rows)
    if (name == row.name) return row;
  const std::string near = nearest(name, names_of(rows));
  fail(key, ": '", name, "' is not built by this version",
       near.empty() ? "" : join("; the nearest that is: '", near, "'"));
}

Features features_of(Net& net, const DetectorOptions& options, const NamedBody& named, Value data) {
  const std::vector<Feature> stages = residual_body(net, options, named.body, data);
  Features features;
  if (named.top == Top::pyramid)
    features = feature_pyramid(net, options, stages);
  else if (named.top == Top::finest_of_pyramid)
    features = finest_of_pyramid(net, options, stages);
  else
    features.maps = {stages.back()};
  net.fixed = false;  // what follows is never frozen
  return features;
}

// What a network of proposals alone predicts: its boxes, best first.
void output_proposals(Net& net, const Proposals& proposals) {
  Graph& graph = net.graph;
  net.output("boxes", proposals.boxes);
  net.output("scores", sigmoid(graph, proposals.logits, "rpn_roi_probs"));
  const Value here = present(graph, proposals.sources, "rpn_rois_present");
  net.output("count", cast(graph, reduce_sum(graph, here, {1}, false, "rpn_rois_count_float"),
                           DType::int64, "rpn_rois_count"));
}

void build(Net& net, const DetectorOptions& options) {
  const NamedBody& body = row_named(kBodies, "MODEL.CONV_BODY", options.model.conv_body);
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
  box_stage(net, options, body.body,
            row_named(kBoxHeads, "FAST_RCNN.ROI_BOX_HEAD", options.fast_rcnn.roi_box_head).head,
            features, proposals, in);
}

void check_pyramid(const DetectorOptions& o, Top top) {
  const FpnOptions& fpn = o.fpn;
  check(!fpn.fpn_on || top != Top::stage, "MODEL.CONV_BODY: ", o.model.conv_body,
        " has no feature pyramid, but FPN.FPN_ON asks for one");
  check(fpn.fpn_on || top != Top::pyramid, "MODEL.CONV_BODY: ", o.model.conv_body,
        " is a feature pyramid; set FPN.FPN_ON: true");
  if (!fpn.fpn_on) {
    check(!fpn.multilevel_rpn && !fpn.multilevel_rois,
          "FPN.MULTILEVEL_RPN and FPN.MULTILEVEL_ROIS need FPN.FPN_ON");
    return;
  }
  const PyramidLevels levels = pyramid_levels(fpn);
  check(levels.first >= 2 && levels.first <= levels.last, "FPN: the levels ", levels.first, " to ",
        levels.last, " are not the body's, 2 to 5, and coarser ones");
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
  check_pyramid(options, row_named(kBodies, "MODEL.CONV_BODY", options.model.conv_body).top);
  check(!options.retinanet.retinanet_on || options.fpn.fpn_on,
        "RETINANET.RETINANET_ON needs FPN.FPN_ON");
  check(!options.model.rpn_only || options.rpn.rpn_on, "MODEL.RPN_ONLY needs RPN.RPN_ON");
  if (has_box_head(options)) {
    row_named(kBoxHeads, "FAST_RCNN.ROI_BOX_HEAD", options.fast_rcnn.roi_box_head);
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
