// SPDX-License-Identifier: Apache-2.0
// The keys of a detector's heads, which predict from the body's features.
#include "app/config/one_of.h"
#include "app/detection/config/key_tables.h"
#include "app/detection/shapes/keypoint_results.h"
#include "graph/listed.h"

namespace lockstep {
namespace {

const std::vector<std::string> kRoiMethods{"RoIPoolF", "RoIAlign"};
const std::vector<std::string> kFills{"GaussianFill", "MSRAFill"};
constexpr const char* kSamples = "RoIAlign: samples of a cell in each direction; 0: by its size";
constexpr const char* kMethod = "RoIPoolF or RoIAlign";
constexpr const char* kResolution = "height and width of a RoI's features";

ConfigKeys box_keys(DetectorOptions& network) {
  FastRcnnOptions& c = network.fast_rcnn;
  return {
      {"FAST_RCNN.ROI_BOX_HEAD", &c.roi_box_head,
       "function of the box head, such as fast_rcnn_heads.add_roi_2mlp_head"},
      {"FAST_RCNN.MLP_HEAD_DIM", &c.mlp_head_dim, "width of the head's hidden layers", at_least(1)},
      {"FAST_RCNN.CONV_HEAD_DIM", &c.conv_head_dim, "Xconv1fc: channels of its convolutions",
       at_least(1)},
      {"FAST_RCNN.NUM_STACKED_CONVS",
       &c.num_stacked_convs,
       "Xconv1fc: number of convolutions",
       {.least = 0, .most = 1024}},
      {"FAST_RCNN.ROI_XFORM_METHOD", one_of(c.roi_xform_method, kRoiMethods), kMethod},
      {"FAST_RCNN.ROI_XFORM_SAMPLING_RATIO",
       &c.roi_xform_sampling_ratio,
       kSamples,
       {.least = 0, .most = 1024}},
      {"FAST_RCNN.ROI_XFORM_RESOLUTION",
       &c.roi_xform_resolution,
       kResolution,
       {.least = 1, .most = 4096}}};
}

ConfigKeys mask_keys(DetectorOptions& network) {
  MaskOptions& c = network.mrcnn;
  return {{"MRCNN.ROI_MASK_HEAD", &c.roi_mask_head,
           "function of the mask head, such as mask_rcnn_heads.mask_rcnn_fcn_head_v1up4convs"},
          {"MRCNN.RESOLUTION",
           &c.resolution,
           "height and width of a predicted mask",
           {.least = 1, .most = 4096}},
          {"MRCNN.ROI_XFORM_METHOD", one_of(c.roi_xform_method, kRoiMethods), kMethod},
          {"MRCNN.ROI_XFORM_RESOLUTION",
           &c.roi_xform_resolution,
           kResolution,
           {.least = 1, .most = 4096}},
          {"MRCNN.ROI_XFORM_SAMPLING_RATIO",
           &c.roi_xform_sampling_ratio,
           kSamples,
           {.least = 0, .most = 1024}},
          {"MRCNN.DIM_REDUCED", &c.dim_reduced, "channels of the head's convolutions", at_least(1)},
          {"MRCNN.DILATION",
           &c.dilation,
           "dilation of the head's convolutions",
           {.least = 1, .most = 4096}},
          {"MRCNN.UPSAMPLE_RATIO",
           &c.upsample_ratio,
           "factor of a bilinear upsampling at the end of the head",
           {.least = 1, .most = 1024}},
          {"MRCNN.USE_FC_OUTPUT", &c.use_fc_output, "a linear layer predicts the mask"},
          {"MRCNN.CONV_INIT", one_of(c.conv_init, kFills), "GaussianFill or MSRAFill"},
          {"MRCNN.CLS_SPECIFIC_MASK", &c.cls_specific_mask, "predict a mask for each class"},
          {"MRCNN.WEIGHT_LOSS_MASK", &c.weight_loss_mask, "factor of the mask loss", {.least = 0}},
          {"MRCNN.THRESH_BINARIZE", &c.thresh_binarize,
           "pixels of a mask have larger probabilities than this", share()}};
}

ConfigKeys keypoint_keys(DetectorOptions& network) {
  KeypointOptions& c = network.krcnn;
  return {
      {"KRCNN.ROI_KEYPOINTS_HEAD", &c.roi_keypoints_head,
       "function of the keypoint head, such as keypoint_rcnn_heads.add_roi_pose_head_v1convX"},
      {"KRCNN.HEATMAP_SIZE",
       &c.heatmap_size,
       "height and width of a keypoint's heatmap",
       {.least = -1, .most = 4096}},
      {"KRCNN.UP_SCALE",
       &c.up_scale,
       "factor of a bilinear upsampling at the end of the head",
       {.least = -1, .most = 1024}},
      {"KRCNN.USE_DECONV", &c.use_deconv, "add a transposed convolution before the output"},
      {"KRCNN.DECONV_DIM", &c.deconv_dim, "channels of the convolution of USE_DECONV", at_least(1)},
      {"KRCNN.USE_DECONV_OUTPUT", &c.use_deconv_output,
       "use a transposed convolution as the output"},
      {"KRCNN.DILATION",
       &c.dilation,
       "dilation of the head's convolutions",
       {.least = 1, .most = 4096}},
      {"KRCNN.DECONV_KERNEL",
       &c.deconv_kernel,
       "kernel size of transposed convolutions",
       {.least = 1, .most = 1024}},
      {"KRCNN.NUM_KEYPOINTS", &c.num_keypoints, "number of keypoints of an object", at_least(-1)},
      {"KRCNN.NUM_STACKED_CONVS",
       &c.num_stacked_convs,
       "number of the head's convolutions",
       {.least = 0, .most = 1024}},
      {"KRCNN.CONV_HEAD_DIM", &c.conv_head_dim, "channels of the head's convolutions", at_least(1)},
      {"KRCNN.CONV_HEAD_KERNEL",
       &c.conv_head_kernel,
       "kernel size of the head's convolutions",
       {.least = 1, .most = 1024}},
      {"KRCNN.CONV_INIT", one_of(c.conv_init, kFills), "GaussianFill or MSRAFill"},
      {"KRCNN.NMS_OKS", &c.nms_oks, "suppress objects by the similarity of their keypoints"},
      {"KRCNN.KEYPOINT_CONFIDENCE",
       one_of(c.keypoint_confidence, names_of_rows(keypoint_confidences())),
       "source of the score of an object's keypoints: bbox, the score of the box; logit or prob, "
       "the mean over its points"},
      {"KRCNN.ROI_XFORM_METHOD", one_of(c.roi_xform_method, kRoiMethods), kMethod},
      {"KRCNN.ROI_XFORM_RESOLUTION",
       &c.roi_xform_resolution,
       kResolution,
       {.least = 1, .most = 4096}},
      {"KRCNN.ROI_XFORM_SAMPLING_RATIO",
       &c.roi_xform_sampling_ratio,
       kSamples,
       {.least = 0, .most = 1024}},
      {"KRCNN.MIN_KEYPOINT_COUNT_FOR_VALID_MINIBATCH", &c.min_keypoint_count_for_valid_minibatch,
       "a step with few visible keypoints is trained, too, as in Detectron with an RPN",
       unused_number()},
      {"KRCNN.INFERENCE_MIN_SIZE",
       &c.inference_min_size,
       "smallest side of the enlarged heatmap of a box, in cells; 0: one cell for each pixel",
       {.least = 0, .most = 4096}},
      {"KRCNN.LOSS_WEIGHT", &c.loss_weight, "factor of the keypoint loss", {.least = 0}},
      {"KRCNN.NORMALIZE_BY_VISIBLE_KEYPOINTS", &c.normalize_by_visible_keypoints,
       "the loss is divided by the number of visible keypoints"}};
}

ConfigKeys dense_keys(DetectorOptions& network) {
  RetinaNetOptions& c = network.retinanet;
  return {{"RETINANET.RETINANET_ON", &c.retinanet_on,
           "build a RetinaNet, which classifies every anchor"},
          {"RETINANET.ASPECT_RATIOS",
           &c.aspect_ratios,
           "height / width of the anchors",
           {.least = 1e-3, .most = 1e3}},
          {"RETINANET.SCALES_PER_OCTAVE",
           &c.scales_per_octave,
           "number of anchor sizes on a level",
           {.least = 1, .most = 1024}},
          {"RETINANET.ANCHOR_SCALE",
           &c.anchor_scale,
           "side of the smallest anchor, in strides",
           {.least = 1e-3, .most = 1e6}},
          {"RETINANET.NUM_CONVS",
           &c.num_convs,
           "number of convolutions of a tower",
           {.least = 0, .most = 1024}},
          {"RETINANET.BBOX_REG_WEIGHT", &c.bbox_reg_weight, "factor of the box loss", {.least = 0}},
          {"RETINANET.BBOX_REG_BETA",
           &c.bbox_reg_beta,
           "difference from which the box loss is linear",
           {.least = kLeastShare}},
          {"RETINANET.PRE_NMS_TOP_N", &c.pre_nms_top_n,
           "number of boxes of a level that are kept before suppression", at_least(1)},
          {"RETINANET.POSITIVE_OVERLAP",
           &c.positive_overlap,
           "smallest IoU of a foreground anchor",
           {.least = kLeastShare, .most = 1}},
          {"RETINANET.NEGATIVE_OVERLAP", &c.negative_overlap,
           "IoU below which an anchor is background", share()},
          {"RETINANET.LOSS_ALPHA", &c.loss_alpha, "focal loss: weight of objects", share()},
          {"RETINANET.LOSS_GAMMA", &c.loss_gamma, "focal loss: exponent", {.least = 0}},
          {"RETINANET.PRIOR_PROB",
           &c.prior_prob,
           "initial probability of objects",
           {.least = kLeastShare, .most = 1 - kLeastShare}},
          {"RETINANET.SHARE_CLS_BBOX_TOWER", &c.share_cls_bbox_tower,
           "classes and boxes share one tower"},
          {"RETINANET.CLASS_SPECIFIC_BBOX", &c.class_specific_bbox, "predict a box for each class"},
          {"RETINANET.SOFTMAX", &c.softmax, "softmax over the classes instead of sigmoids"},
          {"RETINANET.INFERENCE_TH", &c.inference_th, "smallest score of a box", share()},
          {"RFCN.PS_GRID_SIZE",
           &network.rfcn.ps_grid_size,
           "cells of a RoI in each direction",
           {.least = 1, .most = 1024}}};
}

}  // namespace

ConfigKeys detector_head_keys(DetectorOptions& network) {
  return joined(
      {box_keys(network), mask_keys(network), keypoint_keys(network), dense_keys(network)});
}

}  // namespace lockstep
