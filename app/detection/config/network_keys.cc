// SPDX-License-Identifier: Apache-2.0
// The keys of a detector's type and of its body.
#include "app/detection/config/key_tables.h"
#include "models/detection/families.h"

namespace lockstep {
namespace {

ConfigKeys model_keys(DetectorOptions& network) {
  DetectionModelOptions& c = network.model;
  const std::vector<std::string> families = names_of_rows(kDetectorFamilies);
  return {
      {"MODEL.TYPE", &c.type, listed_before(families, " or "), {.words = families}},
      {"MODEL.CONV_BODY", &c.conv_body,
       "function of the body, such as FPN.add_fpn_ResNet50_conv5_body or "
       "VGG16.add_VGG16_conv5_body"},
      {"MODEL.NUM_CLASSES", &c.num_classes, "number of classes, background included", at_least(-1)},
      {"MODEL.CLS_AGNOSTIC_BBOX_REG", &c.cls_agnostic_bbox_reg,
       "predict one box for all classes instead of one for each class"},
      {"MODEL.BBOX_REG_WEIGHTS",
       &c.bbox_reg_weights,
       "factors of the box deltas: x, y, width, height",
       {.least = 0}},
      {"MODEL.FASTER_RCNN", &c.faster_rcnn, "train the RPN and the box head together"},
      {"MODEL.MASK_ON", &c.mask_on, "predict the masks of objects, by MRCNN.ROI_MASK_HEAD"},
      {"MODEL.KEYPOINTS_ON", &c.keypoints_on,
       "predict the keypoints of objects, by KRCNN.ROI_KEYPOINTS_HEAD"},
      {"MODEL.RPN_ONLY", &c.rpn_only, "predict region proposals only"}};
}

ConfigKeys proposal_keys(DetectorOptions& network) {
  RpnOptions& c = network.rpn;
  return {
      {"RPN.RPN_ON", &c.rpn_on, "the network has an RPN; inferred from MODEL"},
      {"RPN.SIZES", &c.sizes, "without an FPN: sides of the anchors, in pixels", at_least(1)},
      {"RPN.STRIDE", &c.stride, "without an FPN: distance of two anchors, in pixels", at_least(1)},
      {"RPN.ASPECT_RATIOS",
       &c.aspect_ratios,
       "without an FPN: height / width of the anchors",
       {.least = 1e-3, .most = 1e3}}};
}

ConfigKeys pyramid_keys(DetectorOptions& network) {
  const KeyFacts level{.least = 1, .most = 16};
  FpnOptions& c = network.fpn;
  return {{"FPN.FPN_ON", &c.fpn_on, "the body is a feature pyramid network"},
          {"FPN.DIM", &c.dim, "channels of each level", at_least(1)},
          {"FPN.ZERO_INIT_LATERAL", &c.zero_init_lateral, "lateral connections start at zero"},
          {"FPN.COARSEST_STRIDE",
           &c.coarsest_stride,
           "height and width of images are padded to a multiple of this stride",
           {.least = 1, .most = 1 << 16}},
          {"FPN.MULTILEVEL_ROIS", &c.multilevel_rois,
           "pool each RoI from the level that fits its size"},
          {"FPN.ROI_CANONICAL_SCALE", &c.roi_canonical_scale,
           "side of a RoI that is pooled from ROI_CANONICAL_LEVEL", at_least(1)},
          {"FPN.ROI_CANONICAL_LEVEL", &c.roi_canonical_level,
           "level for RoIs with sides of ROI_CANONICAL_SCALE", level},
          {"FPN.ROI_MAX_LEVEL", &c.roi_max_level, "coarsest level for RoIs", level},
          {"FPN.ROI_MIN_LEVEL", &c.roi_min_level, "finest level for RoIs", level},
          {"FPN.MULTILEVEL_RPN", &c.multilevel_rpn, "predict proposals on all levels"},
          {"FPN.RPN_MAX_LEVEL", &c.rpn_max_level, "coarsest level for proposals", level},
          {"FPN.RPN_MIN_LEVEL", &c.rpn_min_level, "finest level for proposals", level},
          {"FPN.RPN_ASPECT_RATIOS",
           &c.rpn_aspect_ratios,
           "height / width of the anchors",
           {.least = 1e-3, .most = 1e3}},
          {"FPN.RPN_ANCHOR_START_SIZE", &c.rpn_anchor_start_size,
           "side of the anchors on RPN_MIN_LEVEL; it doubles with each level", at_least(1)},
          {"FPN.EXTRA_CONV_LEVELS", &c.extra_conv_levels,
           "levels above the body's are convolutions instead of one subsampled level"},
          {"FPN.USE_GN", &c.use_gn, "group norm in the pyramid"}};
}

ConfigKeys body_keys(DetectorOptions& network) {
  ResNetOptions& c = network.resnets;
  GroupNormOptions& norm = network.group_norm;
  return {{"RESNETS.NUM_GROUPS", &c.num_groups,
           "groups of the 3x3 convolutions; 1: ResNet, more: ResNeXt", at_least(1)},
          {"RESNETS.WIDTH_PER_GROUP", &c.width_per_group, "channels of a group in the first stage",
           at_least(1)},
          {"RESNETS.STRIDE_1X1", &c.stride_1x1,
           "bottleneck blocks have their stride in the first 1x1 convolution instead of the 3x3"},
          {"RESNETS.TRANS_FUNC", &c.trans_func,
           "function of a block: bottleneck_transformation, bottleneck_gn_transformation, or ours: "
           "basic_transformation, basic_gn_transformation"},
          {"RESNETS.STEM_FUNC", &c.stem_func, "function of the stem: basic_bn_stem, basic_gn_stem"},
          {"RESNETS.SHORTCUT_FUNC", &c.shortcut_func,
           "function of a shortcut: basic_bn_shortcut, basic_gn_shortcut"},
          {"RESNETS.RES5_DILATION", &c.res5_dilation, "dilation of the last stage", at_least(1)},
          {"GROUP_NORM.DIM_PER_GP", &norm.dim_per_gp,
           "channels of a group; -1: NUM_GROUPS is set instead", at_least(-1)},
          {"GROUP_NORM.NUM_GROUPS", &norm.num_groups,
           "number of groups; -1: DIM_PER_GP is set instead", at_least(-1)},
          {"GROUP_NORM.EPSILON", &norm.epsilon, "added to the variance", {.least = 0}}};
}

}  // namespace

ConfigKeys detector_network_keys(DetectorOptions& network) {
  return joined(
      {model_keys(network), proposal_keys(network), pyramid_keys(network), body_keys(network)});
}

}  // namespace lockstep
