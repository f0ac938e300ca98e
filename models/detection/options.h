// SPDX-License-Identifier: Apache-2.0
// Options of detectors. Each struct mirrors a section of a Detectron YAML file, with the same
// fields and defaults. Sections that do not change a network (SOLVER, DATA_LOADER, ..) are
// elsewhere.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

struct DetectionModelOptions {  // MODEL
  std::string type;
  std::string conv_body;
  int64_t num_classes = -1;  // with background
  bool cls_agnostic_bbox_reg = false;
  std::vector<double> bbox_reg_weights = {10, 10, 5, 5};
  bool faster_rcnn = false;
  bool mask_on = false;
  bool keypoints_on = false;
  bool rpn_only = false;
};

struct RpnOptions {  // RPN
  bool rpn_on = false;
  std::vector<double> sizes = {64, 128, 256, 512};
  int64_t stride = 16;
  std::vector<double> aspect_ratios = {0.5, 1, 2};
};

struct FpnOptions {  // FPN
  bool fpn_on = false;
  int64_t dim = 256;
  bool zero_init_lateral = false;
  int64_t coarsest_stride = 32;
  bool multilevel_rois = false;
  double roi_canonical_scale = 224;
  int64_t roi_canonical_level = 4;
  int64_t roi_max_level = 5;
  int64_t roi_min_level = 2;
  bool multilevel_rpn = false;
  int64_t rpn_max_level = 6;
  int64_t rpn_min_level = 2;
  std::vector<double> rpn_aspect_ratios = {0.5, 1, 2};
  double rpn_anchor_start_size = 32;
  bool extra_conv_levels = false;
  bool use_gn = false;
};

struct FastRcnnOptions {  // FAST_RCNN
  std::string roi_box_head;
  int64_t mlp_head_dim = 1024;
  int64_t conv_head_dim = 256;
  int64_t num_stacked_convs = 4;
  std::string roi_xform_method = "RoIPoolF";
  int64_t roi_xform_sampling_ratio = 0;
  int64_t roi_xform_resolution = 14;
};

struct MaskOptions {  // MRCNN
  std::string roi_mask_head;
  int64_t resolution = 14;
  std::string roi_xform_method = "RoIAlign";
  int64_t roi_xform_resolution = 7;
  int64_t roi_xform_sampling_ratio = 0;
  int64_t dim_reduced = 256;
  int64_t dilation = 2;
  int64_t upsample_ratio = 1;
  bool use_fc_output = false;
  std::string conv_init = "GaussianFill";
  bool cls_specific_mask = true;
  double weight_loss_mask = 1;
  double thresh_binarize = 0.5;
};

struct KeypointOptions {  // KRCNN
  std::string roi_keypoints_head;
  int64_t heatmap_size = -1;
  int64_t up_scale = -1;
  bool use_deconv = false;
  int64_t deconv_dim = 256;
  bool use_deconv_output = false;
  int64_t dilation = 1;
  int64_t deconv_kernel = 4;
  int64_t num_keypoints = -1;
  int64_t num_stacked_convs = 8;
  int64_t conv_head_dim = 256;
  int64_t conv_head_kernel = 3;
  std::string conv_init = "GaussianFill";
  bool nms_oks = false;
  std::string keypoint_confidence = "bbox";
  std::string roi_xform_method = "RoIAlign";
  int64_t roi_xform_resolution = 7;
  int64_t roi_xform_sampling_ratio = 0;
  int64_t min_keypoint_count_for_valid_minibatch = 20;
  double inference_min_size = 0;
  double loss_weight = 1;
  bool normalize_by_visible_keypoints = true;
};

struct RetinaNetOptions {  // RETINANET
  bool retinanet_on = false;
  std::vector<double> aspect_ratios = {0.5, 1, 2};
  int64_t scales_per_octave = 3;
  double anchor_scale = 4;
  int64_t num_convs = 4;
  double bbox_reg_weight = 1;
  double bbox_reg_beta = 0.11;
  int64_t pre_nms_top_n = 1000;
  double positive_overlap = 0.5;
  double negative_overlap = 0.4;
  double loss_alpha = 0.25;
  double loss_gamma = 2;
  double prior_prob = 0.01;
  bool share_cls_bbox_tower = false;
  bool class_specific_bbox = false;
  bool softmax = false;
  double inference_th = 0.05;
};

struct RfcnOptions {  // RFCN
  int64_t ps_grid_size = 3;
  int64_t reduced_channels = 0;  // not in Detectron, whose older types imply 1024; 0: not reduced
};

struct VggOptions {  // VGG: not in Detectron, for smaller bodies
  int64_t channel_divisor = 1;
};

struct ResNetOptions {  // RESNETS
  int64_t num_groups = 1;
  int64_t width_per_group = 64;
  bool stride_1x1 = true;
  std::string trans_func = "bottleneck_transformation";
  std::string stem_func = "basic_bn_stem";
  std::string shortcut_func = "basic_bn_shortcut";
  int64_t res5_dilation = 1;
  int64_t stem_out_channels = 64;   // not in Detectron, for smaller bodies
  int64_t res2_out_channels = 256;  // not in Detectron; a configuration with basic blocks infers 64
};

struct GroupNormOptions {  // GROUP_NORM
  int64_t dim_per_gp = -1;
  int64_t num_groups = 32;
  double epsilon = 1e-5;
};

struct DetectionTrainOptions {  // TRAIN: keys that change a network
  int64_t ims_per_batch = 2;    // images of one replica
  std::vector<int64_t> scales = {600};
  int64_t max_size = 1000;
  int64_t batch_size_per_im = 64;
  double fg_fraction = 0.25;
  double fg_thresh = 0.5;
  double bbox_thresh = 0.5;  // as fg_thresh: the boxes of objects are learnt
  double bg_thresh_hi = 0.5;
  double bg_thresh_lo = 0;
  double rpn_positive_overlap = 0.7;
  double rpn_negative_overlap = 0.3;
  double rpn_fg_fraction = 0.5;
  int64_t rpn_batch_size_per_im = 256;
  double rpn_nms_thresh = 0.7;
  int64_t rpn_pre_nms_top_n = 12000;
  int64_t rpn_post_nms_top_n = 2000;
  double rpn_straddle_thresh = 0;
  double rpn_min_size = 0;
  double crowd_filter_thresh = 0.7;
  bool freeze_conv_body = false;
  int64_t freeze_at = 2;
  bool shared_normalisers = false;  // not in Detectron: losses per count of all replicas
};

struct SoftSuppression {  // TEST.SOFT_NMS
  bool enabled = false;
  std::string method = "linear";
  double sigma = 0.5;
};

struct BoxVote {  // TEST.BBOX_VOTE
  bool enabled = false;
  double vote_th = 0.8;
  std::string scoring_method = "ID";
  double scoring_method_beta = 1;
};

// The part of the network that a prediction graph computes.
enum class Predicts {
  all,             // boxes, and masks and heatmaps of all places, empty places included
  boxes,           // without masks and heatmaps
  maps,            // the feature maps that heads pool, as outputs roi_map_0, .. (finest first)
  boxes_and_maps,  // boxes and maps
  // Masks and heatmaps of fed boxes: inputs roi_map_0, .., im_info, boxes [1, P, 4] in the picture
  // and classes [1, P], with zeros in empty places.
  shapes
};

struct DetectionTestOptions {  // TEST: keys that change a network
  int64_t scale = 600;
  int64_t max_size = 1000;
  double nms = 0.3;
  bool bbox_reg = true;
  int64_t proposal_limit = 2000;
  double rpn_nms_thresh = 0.7;
  int64_t rpn_pre_nms_top_n = 12000;
  int64_t rpn_post_nms_top_n = 2000;
  double rpn_min_size = 0;
  int64_t detections_per_im = 100;
  double score_thresh = 0.05;
  SoftSuppression soft_nms;
  BoxVote bbox_vote;
  // No key: the network outputs the candidates of all classes, not the results among them.
  bool all_candidates = false;
  // No keys.
  Predicts predicts = Predicts::all;
  int64_t shape_places = 0;  // P of Predicts::shapes
};

// The sizes of a detector's graphs, fixed unless `open`.
struct DetectionShape {
  int64_t height = 0,
          width = 0;         // of the input; 0: the widest that TRAIN.SCALES and MAX_SIZE allow
  int64_t true_boxes = 128;  // slots for true boxes of an image
  int64_t vertices = 8192;   // slots for vertices of an image's outlines, in models with masks
  int64_t proposals = 2000;  // slots for fed proposals, in models without an RPN
  bool open = false;         // a prediction takes an image of any height and width
};

struct DetectorOptions {
  DetectionModelOptions model;
  RpnOptions rpn;
  FpnOptions fpn;
  FastRcnnOptions fast_rcnn;
  MaskOptions mrcnn;
  KeypointOptions krcnn;
  RetinaNetOptions retinanet;
  RfcnOptions rfcn;
  VggOptions vgg;
  ResNetOptions resnets;
  GroupNormOptions group_norm;
  DetectionTrainOptions train;
  DetectionTestOptions test;
  double bbox_xform_clip = std::log(1000.0 / 16);
  DetectionShape shape;
};

}  // namespace lockstep
