// What a detector is, and what its body is made of.
#include "tools/detection/key_tables.h"

namespace lockstep {
namespace {

ConfigKeys model_keys(DetectorOptions& network) {
  DetectionModelOptions& c = network.model;
  return {{"MODEL.TYPE", &c.type, "generalized_rcnn, retinanet or rfcn"},
          {"MODEL.CONV_BODY", &c.conv_body,
           "function of the body: FPN.add_fpn_ResNet50_conv5_body, .."},
          {"MODEL.NUM_CLASSES", &c.num_classes, "classes, with the background", at_least(-1)},
          {"MODEL.CLS_AGNOSTIC_BBOX_REG", &c.cls_agnostic_bbox_reg,
           "one box for all classes of an object instead of one a class"},
          {"MODEL.BBOX_REG_WEIGHTS",
           &c.bbox_reg_weights,
           "factors of a box's targets: x, y, width, height",
           {.least = 0}},
          {"MODEL.FASTER_RCNN", &c.faster_rcnn, "region proposals and boxes are trained together"},
          {"MODEL.MASK_ON", &c.mask_on, "predict masks"},
          {"MODEL.KEYPOINTS_ON", &c.keypoints_on, "predict keypoints"},
          {"MODEL.RPN_ONLY", &c.rpn_only, "region proposals and nothing else"}};
}

ConfigKeys proposal_keys(DetectorOptions& network) {
  RpnOptions& c = network.rpn;
  return {
      {"RPN.RPN_ON", &c.rpn_on, "there is a region proposal network; inferred from MODEL"},
      {"RPN.SIZES", &c.sizes, "sides of anchors in pixels, without an FPN", at_least(1)},
      {"RPN.STRIDE", &c.stride, "pixels from one anchor to the next, without an FPN", at_least(1)},
      {"RPN.ASPECT_RATIOS",
       &c.aspect_ratios,
       "height to width of anchors, without an FPN",
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
           "height and width of images are padded to a multiple of it",
           {.least = 1, .most = 1 << 16}},
          {"FPN.MULTILEVEL_ROIS", &c.multilevel_rois, "each RoI takes its features from one level"},
          {"FPN.ROI_CANONICAL_SCALE", &c.roi_canonical_scale,
           "side of a RoI that takes ROI_CANONICAL_LEVEL", at_least(1)},
          {"FPN.ROI_CANONICAL_LEVEL", &c.roi_canonical_level, "level of RoIs of that size", level},
          {"FPN.ROI_MAX_LEVEL", &c.roi_max_level, "coarsest level that RoIs take", level},
          {"FPN.ROI_MIN_LEVEL", &c.roi_min_level, "finest level that RoIs take", level},
          {"FPN.MULTILEVEL_RPN", &c.multilevel_rpn, "proposals come from all levels"},
          {"FPN.RPN_MAX_LEVEL", &c.rpn_max_level, "coarsest level of proposals", level},
          {"FPN.RPN_MIN_LEVEL", &c.rpn_min_level, "finest level of proposals", level},
          {"FPN.RPN_ASPECT_RATIOS",
           &c.rpn_aspect_ratios,
           "height to width of anchors",
           {.least = 1e-3, .most = 1e3}},
          {"FPN.RPN_ANCHOR_START_SIZE", &c.rpn_anchor_start_size,
           "side of the anchors of RPN_MIN_LEVEL; it doubles with each level", at_least(1)},
          {"FPN.EXTRA_CONV_LEVELS", &c.extra_conv_levels,
           "levels above the body's are convolutions, instead of one that is subsampled"},
          {"FPN.USE_GN", &c.use_gn, "group norm in the pyramid"}};
}

ConfigKeys body_keys(DetectorOptions& network) {
  ResNetOptions& c = network.resnets;
  GroupNormOptions& norm = network.group_norm;
  return {{"RESNETS.NUM_GROUPS", &c.num_groups,
           "groups of 3x3 convolutions: 1 ResNet, more ResNeXt", at_least(1)},
          {"RESNETS.WIDTH_PER_GROUP", &c.width_per_group, "channels of a group in the first stage",
           at_least(1)},
          {"RESNETS.STRIDE_1X1", &c.stride_1x1,
           "bottlenecks stride in their first 1x1 convolution instead of the 3x3"},
          {"RESNETS.TRANS_FUNC", &c.trans_func,
           "function of a block: bottleneck_transformation, bottleneck_gn_transformation, or ours: "
           "basic_transformation, basic_gn_transformation"},
          {"RESNETS.STEM_FUNC", &c.stem_func, "function of the stem: basic_bn_stem, basic_gn_stem"},
          {"RESNETS.SHORTCUT_FUNC", &c.shortcut_func,
           "function of a shortcut: basic_bn_shortcut, basic_gn_shortcut"},
          {"RESNETS.RES5_DILATION", &c.res5_dilation, "dilation of the last stage", at_least(1)},
          {"GROUP_NORM.DIM_PER_GP", &norm.dim_per_gp, "channels of a group; -1: by NUM_GROUPS",
           at_least(-1)},
          {"GROUP_NORM.NUM_GROUPS", &norm.num_groups, "groups; -1: by DIM_PER_GP", at_least(-1)},
          {"GROUP_NORM.EPSILON", &norm.epsilon, "added to the variance", {.least = 0}}};
}

}  // namespace

ConfigKeys detector_network_keys(DetectorOptions& network) {
  return joined(
      {model_keys(network), proposal_keys(network), pyramid_keys(network), body_keys(network)});
}

}  // namespace lockstep
