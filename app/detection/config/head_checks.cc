// SPDX-License-Identifier: Apache-2.0
// Checks of the sizes of heads, and of groups.
#include <algorithm>

#include "app/detection/config/detector_checks.h"
#include "models/detection/roi_sampling.h"

namespace lockstep {
namespace {

class HeadChecks : DetectorKeys {
 public:
  using DetectorKeys::DetectorKeys;

  void all() const {
    if (model_.mask_on) check_masks();
    if (model_.keypoints_on) check_keypoints();
    check_groups();
  }

 private:
  void check_masks() const {
    const MaskOptions& mask = network_.mrcnn;
    const MaskHeadFunction* const head = mask_head();
    const bool is_stage_5 = head && head->is_stage_5;
    const int64_t cells =
        is_stage_5 ? cells_after_stage_5(mask.roi_xform_resolution) : mask.roi_xform_resolution;
    const int64_t side = cells * 2 * mask.upsample_ratio;
    const std::string ratio = "MRCNN.UPSAMPLE_RATIO", on = "MODEL.MASK_ON";
    need(mask.use_fc_output || mask.resolution == side,
         {"MRCNN.RESOLUTION", "MRCNN.ROI_XFORM_RESOLUTION", ratio, on},
         "does not fit: MRCNN.RESOLUTION ", mask.resolution, " should be ", side, ", ", cells,
         " cells x 2 x MRCNN.UPSAMPLE_RATIO ", mask.upsample_ratio);
    need(mask.upsample_ratio == 1 || mask.upsample_ratio % 2 == 0, {ratio, on}, mask.upsample_ratio,
         " should be 1 or an even number");
    need(mask.upsample_ratio == 1 || !mask.use_fc_output, {ratio, "MRCNN.USE_FC_OUTPUT"},
         mask.upsample_ratio,
         " should be 1 with MRCNN.USE_FC_OUTPUT, whose linear layer predicts "
         "all MRCNN.RESOLUTION x RESOLUTION cells");
    check_objects(on);
    check_pooling("MRCNN.ROI_XFORM_METHOD", mask.roi_xform_method);
    check_stage_5(is_stage_5, "MRCNN.ROI_MASK_HEAD", mask.roi_mask_head);
    if (head && head->shares_stage_5) check_shared_stage(*head);
  }

  // In training the mask head reads the box head's features; in prediction it should compute the
  // same from the boxes that were found.
  void check_shared_stage(const MaskHeadFunction& head) const {
    const MaskOptions& mask = network_.mrcnn;
    const FastRcnnOptions& box = network_.fast_rcnn;
    need(box_head() && box_head()->is_stage_5, {"MRCNN.ROI_MASK_HEAD", "FAST_RCNN.ROI_BOX_HEAD"},
         "does not fit: ", head.name, " shares the box head's stage 5, which ",
         "FAST_RCNN.ROI_BOX_HEAD ", box.roi_box_head, " lacks");
    const auto equal = [&](const std::string& key, const auto& of_masks, const auto& of_boxes) {
      need(of_masks == of_boxes, {"MRCNN." + key, "FAST_RCNN." + key, "MRCNN.ROI_MASK_HEAD"},
           "does not fit: MRCNN.", key, " ", of_masks, " should be FAST_RCNN.", key, " ", of_boxes,
           ", because ", head.name, " shares the box head's stage 5");
    };
    equal("ROI_XFORM_METHOD", mask.roi_xform_method, box.roi_xform_method);
    equal("ROI_XFORM_RESOLUTION", mask.roi_xform_resolution, box.roi_xform_resolution);
    equal("ROI_XFORM_SAMPLING_RATIO", mask.roi_xform_sampling_ratio, box.roi_xform_sampling_ratio);
    need(mask.dilation == 1, {"MRCNN.DILATION", "MRCNN.ROI_MASK_HEAD"}, mask.dilation,
         " should be 1: ", head.name, " shares the box head's stage 5, which is not dilated");
  }

  void check_keypoints() const {
    const KeypointOptions& points = network_.krcnn;
    const std::string on = "MODEL.KEYPOINTS_ON";
    need(points.num_keypoints >= 1, {"KRCNN.NUM_KEYPOINTS", on},
         "does not fit: KRCNN.NUM_KEYPOINTS is ", points.num_keypoints);
    const bool is_stage_5 = keypoint_head() && keypoint_head()->is_stage_5;
    const int64_t cells =
        is_stage_5 ? cells_after_stage_5(points.roi_xform_resolution) : points.roi_xform_resolution;
    const int64_t up = std::max<int64_t>(1, points.up_scale) * (points.use_deconv ? 2 : 1) *
                       (points.use_deconv_output ? 2 : 1);
    need(points.heatmap_size == cells * up,
         {"KRCNN.HEATMAP_SIZE", "KRCNN.ROI_XFORM_RESOLUTION", "KRCNN.UP_SCALE", on},
         "does not fit: KRCNN.HEATMAP_SIZE ", points.heatmap_size, " should be ", cells * up, ", ",
         cells, " cells of KRCNN.ROI_XFORM_RESOLUTION ", points.roi_xform_resolution,
         " x upsampling ", up);
    need(points.up_scale <= 1 || points.up_scale % 2 == 0, {"KRCNN.UP_SCALE", on}, points.up_scale,
         " should be 1 or an even number");
    const bool has_deconv = points.use_deconv || points.use_deconv_output;
    need(!has_deconv || points.deconv_kernel % 2 == 0, {"KRCNN.DECONV_KERNEL", on},
         points.deconv_kernel, " should be even, so that the maps are enlarged exactly twice");
    need(is_stage_5 || points.conv_head_kernel % 2 == 1, {"KRCNN.CONV_HEAD_KERNEL", on},
         points.conv_head_kernel, " should be odd, so that the maps keep their size");
    need(is_stage_5 || points.dilation == 1, {"KRCNN.DILATION", on}, points.dilation,
         " should be 1: ", points.roi_keypoints_head,
         " has no dilated convolutions, as in Detectron");
    check_objects(on);
    check_pooling("KRCNN.ROI_XFORM_METHOD", points.roi_xform_method);
    check_stage_5(is_stage_5, "KRCNN.ROI_KEYPOINTS_HEAD", points.roi_keypoints_head);
  }

  void check_objects(const std::string& on) const {
    const DetectionTrainOptions& train = network_.train;
    need(foreground_rois(train) > 0, {"TRAIN.FG_FRACTION", "TRAIN.BATCH_SIZE_PER_IM", on},
         "does not fit: TRAIN.FG_FRACTION ", train.fg_fraction, " of TRAIN.BATCH_SIZE_PER_IM ",
         train.batch_size_per_im, " RoIs is none, so that ", on, " would learn nothing");
  }

  void check_pooling(const std::string& key, const std::string& method) const {
    need(!network_.fpn.fpn_on || method == "RoIAlign", {key, "FPN.FPN_ON"}, method,
         " pools from one level; FPN.MULTILEVEL_ROIS needs RoIAlign");
  }

  void check_stage_5(bool is_stage_5, const std::string& key, const std::string& name) const {
    const BodyFunction* const body = function_in(body_functions(), model_.conv_body);
    need(!is_stage_5 || !body || body->is_residual(), {key, "MODEL.CONV_BODY"}, name,
         " is stage 5 of a ResNet, but MODEL.CONV_BODY ", model_.conv_body, " is no ResNet");
  }

  void check_groups() const {
    const ResNetOptions& body = network_.resnets;
    const int64_t width = body.num_groups * body.width_per_group;
    const BlockFunction* const blocks = function_in(transformation_functions(), body.trans_func);
    const bool is_basic = blocks && !blocks->bottleneck;
    need(!is_basic || body.num_groups == 1, {"RESNETS.NUM_GROUPS"}, body.num_groups,
         " should be 1 with RESNETS.TRANS_FUNC ", body.trans_func);
    const auto normed = [](const auto* function) { return function && function->normed; };
    const bool normed_shortcut = normed(function_in(shortcut_functions(), body.shortcut_func));
    check_norm(normed(function_in(stem_functions(), body.stem_func)), "RESNETS.STEM_OUT_CHANNELS",
               body.stem_out_channels);
    check_norm(normed(blocks) && !is_basic, "RESNETS.WIDTH_PER_GROUP", width);
    check_norm(normed(blocks) || normed_shortcut, "RESNETS.RES2_OUT_CHANNELS",
               body.res2_out_channels);
    check_norm(network_.fpn.fpn_on && network_.fpn.use_gn, "FPN.DIM", network_.fpn.dim);
    check_norm(reads_box_head() && normed(box_head()), "FAST_RCNN.CONV_HEAD_DIM",
               network_.fast_rcnn.conv_head_dim);
    check_norm(model_.mask_on && normed(mask_head()), "MRCNN.DIM_REDUCED",
               network_.mrcnn.dim_reduced);
  }
  void check_norm(bool used, const std::string& key, int64_t channels) const {
    if (!used) return;
    const GroupNormOptions& norm = network_.group_norm;
    const std::vector<std::string> keys{"GROUP_NORM.DIM_PER_GP", "GROUP_NORM.NUM_GROUPS", key};
    need((norm.dim_per_gp > 0) != (norm.num_groups > 0), keys, "does not fit: one of DIM_PER_GP ",
         norm.dim_per_gp, " and NUM_GROUPS ", norm.num_groups,
         " should be -1, the other more than 0");
    const int64_t parts = norm.dim_per_gp > 0 ? norm.dim_per_gp : norm.num_groups;
    need(channels % parts == 0, keys, "does not fit: ", parts,
         norm.dim_per_gp > 0 ? " channels of a group" : " groups", " do not divide the ", channels,
         " channels of ", key);
  }
};

}  // namespace

void check_heads_fit(const DetectorConfig& config) { HeadChecks(config).all(); }

}  // namespace lockstep
