// SPDX-License-Identifier: Apache-2.0
#include "app/detection/checks.h"

#include <algorithm>
#include <cmath>

#include "app/config/read.h"
#include "app/detection/types.h"
#include "builders/all_reduce/all_reduce.h"
#include "builders/detection/anchors.h"
#include "lockstep/error.h"
#include "models/detection/catalogue.h"
#include "models/detection/inputs.h"

namespace lockstep {
namespace {

// The finest and the coarsest level that a ResNet computes itself.
constexpr int64_t kFinestLevel = 2, kCoarsestOfBody = 5;

class DetectorChecks {
 public:
  explicit DetectorChecks(const DetectorConfig& config)
      : config_(config), network_(config.network), model_(config.network.model) {}

  void all() const {
    check_schedule();
    check_parts();
    check_classes();
    check_body();
    check_heads();
    check_proposals();
    check_thresholds();
    if (network_.fpn.fpn_on) check_levels();
    check_anchors();
    if (model_.mask_on) check_masks();
    if (model_.keypoints_on) check_keypoints();
    check_groups();
  }

 private:
  // Throws with the origin of the first of these keys that a file or the command line set.
  template <class... Parts>
  void need(bool holds, const std::vector<std::string>& keys, const Parts&... parts) const {
    if (!holds) fail(blamed(keys), " ", parts...);
  }
  Phrase blamed(const std::vector<std::string>& keys) const {
    return {config_.origins.blame(keys, config_.path),
            {.keys = keys, .place = config_.origins.place_of(keys, config_.path)}};
  }
  bool is_hard_wired() const { return detector_type(model_.type)->is_hard_wired; }
  bool has_box_head() const { return model_.type == "generalized_rcnn" && !model_.rpn_only; }

  // Null if the file names no head.
  const BoxHeadFunction* box_head() const {
    return function_in(box_head_functions(), network_.fast_rcnn.roi_box_head);
  }
  const MaskHeadFunction* mask_head() const {
    return function_in(mask_head_functions(), network_.mrcnn.roi_mask_head);
  }

  void check_schedule() const {
    const LrSchedule& schedule = config_.schedule;
    if (schedule.policy.starts_with("steps_with")) {
      const auto& steps = schedule.steps;
      need(!steps.empty() && steps[0] == 0, {"SOLVER.STEPS", "SOLVER.LR_POLICY"}, steps,
           ": STEPS should begin with 0 for ", schedule.policy);
      need(steps.back() <= schedule.max_iter, {"SOLVER.STEPS", "SOLVER.MAX_ITER"}, steps,
           ": STEPS pass MAX_ITER ", schedule.max_iter);
    }
    placing(config_.origins, config_.path, [&] { check_rates(schedule); });
  }

  void check_parts() const {
    const int64_t images = network_.train.ims_per_batch, parts = config_.step.options.micro_batches;
    need(images % parts == 0, {"TRAIN.MICRO_BATCHES", "TRAIN.IMS_PER_BATCH"},
         "does not fit: ", images, " images of a replica do not divide into ", parts, " parts");
  }

  void check_classes() const {
    const bool none = model_.rpn_only && model_.num_classes == DetectionModelOptions{}.num_classes;
    need(none || model_.num_classes >= 2, {"MODEL.NUM_CLASSES"}, model_.num_classes,
         " should be at least 2: the background and a class");
    need(model_.bbox_reg_weights.size() == 4, {"MODEL.BBOX_REG_WEIGHTS"},
         "should be four numbers: x, y, width, height");
    for (double weight : model_.bbox_reg_weights)
      need(weight > 0, {"MODEL.BBOX_REG_WEIGHTS"}, weight, " should be more than 0");
    need(config_.pixel_means.size() == 3, {"PIXEL_MEANS"}, "should be three numbers");
  }

  void check_body() const {
    if (is_hard_wired()) return;
    const std::string& body = model_.conv_body;
    need(!body.empty(), {"MODEL.CONV_BODY"}, "is missing: FPN.add_fpn_ResNet50_conv5_body, ..");
    const BodyFunction& function = *function_in(body_functions(), body);
    const bool is_one_level = function.top == Top::finest_of_pyramid;
    const bool is_pyramid = function.top == Top::pyramid;
    const std::vector<std::string> keys{"FPN.FPN_ON", "MODEL.CONV_BODY"};
    need(!is_pyramid || network_.fpn.fpn_on, keys, "does not fit: FPN.FPN_ON is false, but ", body,
         " is a feature pyramid; set FPN.FPN_ON to True, or take a body without FPN. in its name");
    need(!network_.fpn.fpn_on || is_pyramid, {"FPN.FPN_ON"}, "is true, but MODEL.CONV_BODY ", body,
         " is no feature pyramid");
    need(network_.train.freeze_at != 1, {"TRAIN.FREEZE_AT"}, "1 should be 0, 2, 3, 4 or 5");
    const bool dense = network_.retinanet.retinanet_on;
    need((model_.type == "retinanet") == dense, {"RETINANET.RETINANET_ON"},
         dense ? "is true, but MODEL.TYPE is " : "should be true for MODEL.TYPE ", model_.type);
    need(!dense || is_pyramid, {"MODEL.CONV_BODY"}, body,
         " is no feature pyramid, which MODEL.TYPE retinanet needs");
    need(!dense || network_.fpn.multilevel_rpn, {"FPN.MULTILEVEL_RPN"},
         "should be true for RetinaNet, which reads FPN.RPN_MIN_LEVEL to RPN_MAX_LEVEL");
    const bool dilated = network_.resnets.res5_dilation > 1;
    need(!dilated || !(is_pyramid || is_one_level), {"RESNETS.RES5_DILATION"},
         network_.resnets.res5_dilation, " does not fit a pyramid: each level halves the size");
    const bool has_stage_5 = function.has_stage_5();
    const int64_t stride = is_one_level ? 4 : has_stage_5 && !dilated ? 32 : 16;
    need(!config_.origins.is_set("RPN.STRIDE") || network_.fpn.multilevel_rpn ||
             network_.rpn.stride == stride,
         {"RPN.STRIDE"}, network_.rpn.stride, " should be ", stride, ", the stride of ", body);
    const BoxHeadFunction* const head = box_head();
    need(!has_box_head() || !has_stage_5 || !head || !head->is_stage_5,
         {"FAST_RCNN.ROI_BOX_HEAD", "MODEL.CONV_BODY"}, "is stage 5, which MODEL.CONV_BODY ", body,
         " has already; it needs a conv4 body");
  }

  void check_heads() const {
    if (is_hard_wired()) return;
    need(!has_box_head() || !network_.fast_rcnn.roi_box_head.empty(), {"FAST_RCNN.ROI_BOX_HEAD"},
         "is missing: fast_rcnn_heads.add_roi_2mlp_head, ..");
    need(!model_.mask_on || !network_.mrcnn.roi_mask_head.empty(),
         {"MODEL.MASK_ON", "MRCNN.ROI_MASK_HEAD"},
         "is true, but there is no mask head: MRCNN.ROI_MASK_HEAD "
         "mask_rcnn_heads.mask_rcnn_fcn_head_v1up4convs, ..");
    need(!model_.keypoints_on || !network_.krcnn.roi_keypoints_head.empty(),
         {"MODEL.KEYPOINTS_ON", "KRCNN.ROI_KEYPOINTS_HEAD"},
         "is true, but there is no keypoint head: KRCNN.ROI_KEYPOINTS_HEAD "
         "keypoint_rcnn_heads.add_roi_pose_head_v1convX, ..");
  }

  void check_proposals() const {
    if (!takes_proposals(network_)) return;
    if (detector_type(model_.type)->has_rpn) return;
    need(!config_.train.data.proposal_files.empty(),
         {"TRAIN.PROPOSAL_FILES", "MODEL.FASTER_RCNN", "MODEL.TYPE"},
         "gives no proposals, and there is no RPN: set MODEL.FASTER_RCNN or TRAIN.PROPOSAL_FILES");
  }

  void check_thresholds() const {
    const DetectionTrainOptions& train = network_.train;
    need(train.bg_thresh_lo <= train.bg_thresh_hi, {"TRAIN.BG_THRESH_LO", "TRAIN.BG_THRESH_HI"},
         "leaves no background: TRAIN.BG_THRESH_LO ", train.bg_thresh_lo, " to TRAIN.BG_THRESH_HI ",
         train.bg_thresh_hi);
    need(train.bg_thresh_hi <= train.fg_thresh, {"TRAIN.FG_THRESH", "TRAIN.BG_THRESH_HI"},
         "makes RoIs both foreground and background: TRAIN.FG_THRESH ", train.fg_thresh,
         " is below TRAIN.BG_THRESH_HI ", train.bg_thresh_hi);
    need(train.rpn_negative_overlap <= train.rpn_positive_overlap,
         {"TRAIN.RPN_NEGATIVE_OVERLAP", "TRAIN.RPN_POSITIVE_OVERLAP"},
         "makes anchors both foreground and background: the negative overlap ",
         train.rpn_negative_overlap, " is above the positive ", train.rpn_positive_overlap);
    const RetinaNetOptions& dense = network_.retinanet;
    need(dense.negative_overlap <= dense.positive_overlap,
         {"RETINANET.NEGATIVE_OVERLAP", "RETINANET.POSITIVE_OVERLAP"},
         "makes anchors both foreground and background: the negative overlap ",
         dense.negative_overlap, " is above the positive ", dense.positive_overlap);
    need(!train.scales.empty(), {"TRAIN.SCALES"}, "should hold at least one number");
    need(!network_.rpn.sizes.empty(), {"RPN.SIZES"}, "should hold at least one number");
    for (const auto& [key, ratios] :
         {std::pair{"RPN.ASPECT_RATIOS", &network_.rpn.aspect_ratios},
          std::pair{"FPN.RPN_ASPECT_RATIOS", &network_.fpn.rpn_aspect_ratios},
          std::pair{"RETINANET.ASPECT_RATIOS", &dense.aspect_ratios}})
      need(!ratios->empty(), {key}, "should hold at least one number");
  }

  // The body adds each level, enlarged twice, to the level below. Sides must therefore divide by
  // the stride of the coarsest level that is added or that a convolution computes.
  void check_levels() const {
    const FpnOptions& fpn = network_.fpn;
    const bool has_rois = fpn.multilevel_rois, has_rpn = fpn.multilevel_rpn;
    need(has_rois || !has_box_head(), {"FPN.MULTILEVEL_ROIS", "FPN.FPN_ON"},
         "should be true: RoIs of a feature pyramid use its levels");
    const std::string& pooling = network_.fast_rcnn.roi_xform_method;
    need(!has_box_head() || pooling == "RoIAlign", {"FAST_RCNN.ROI_XFORM_METHOD", "FPN.FPN_ON"},
         pooling, " pools from one level; FPN.MULTILEVEL_ROIS needs RoIAlign");
    check_range("ROI", fpn.roi_min_level, fpn.roi_max_level, has_rois);
    check_range("RPN", fpn.rpn_min_level, fpn.rpn_max_level, has_rpn);
    if (has_rois && has_rpn)
      need(fpn.roi_min_level == fpn.rpn_min_level && fpn.roi_max_level <= fpn.rpn_max_level,
           {"FPN.ROI_MIN_LEVEL", "FPN.RPN_MIN_LEVEL", "FPN.ROI_MAX_LEVEL", "FPN.RPN_MAX_LEVEL"},
           "does not fit: RoIs take levels ", fpn.roi_min_level, " to ", fpn.roi_max_level,
           ", the RPN ", fpn.rpn_min_level, " to ", fpn.rpn_max_level,
           "; both should begin at the same level, and RoIs end at the RPN's last or before");
    const int64_t last = std::max(has_rois ? fpn.roi_max_level : kCoarsestOfBody,
                                  has_rpn ? fpn.rpn_max_level : kCoarsestOfBody);
    need(fpn.extra_conv_levels || last <= kCoarsestOfBody + 1,
         {"FPN.RPN_MAX_LEVEL", "FPN.ROI_MAX_LEVEL"}, "is level ", last, ": above ",
         kCoarsestOfBody + 1, " there are levels with FPN.EXTRA_CONV_LEVELS only");
    const int64_t level = fpn.extra_conv_levels ? last : std::min(last, kCoarsestOfBody);
    need(fpn.coarsest_stride % (int64_t{1} << level) == 0,
         {"FPN.COARSEST_STRIDE", "FPN.RPN_MAX_LEVEL", "FPN.ROI_MAX_LEVEL", "FPN.FPN_ON"},
         "does not fit: level ", level, " has a stride of ", int64_t{1} << level,
         ", which FPN.COARSEST_STRIDE ", fpn.coarsest_stride, " cannot hold");
  }
  void check_range(const std::string& of, int64_t least, int64_t most, bool used) const {
    const std::vector<std::string> keys{"FPN." + of + "_MIN_LEVEL", "FPN." + of + "_MAX_LEVEL"};
    need(!used || (least >= kFinestLevel && least <= most), keys, "does not fit: levels ", least,
         " to ", most, " should begin at ", kFinestLevel, " or above and not end before");
    need(!used || least <= kCoarsestOfBody, keys, "does not fit: levels from ", least,
         ", but the body ends at ", kCoarsestOfBody);
  }

  // Anchors are rounded to whole pixels; the finest level has the smallest anchors.
  void check_anchors() const {
    const auto need_area = [&](const char* key, double stride, const std::vector<double>& ratios) {
      prefixing(blamed({key}), [&] { base_anchors(stride, {stride}, ratios); });
    };
    const double finest = std::exp2(static_cast<double>(network_.fpn.rpn_min_level));
    if (network_.retinanet.retinanet_on)
      need_area("RETINANET.ASPECT_RATIOS", finest, network_.retinanet.aspect_ratios);
    else if (network_.rpn.rpn_on && network_.fpn.multilevel_rpn)
      need_area("FPN.RPN_ASPECT_RATIOS", finest, network_.fpn.rpn_aspect_ratios);
    else if (network_.rpn.rpn_on)
      need_area("RPN.ASPECT_RATIOS", static_cast<double>(network_.rpn.stride),
                network_.rpn.aspect_ratios);
  }

  // A head with the body's last stage has a stride that leaves 7 of the RoI's cells.
  void check_masks() const {
    const MaskOptions& mask = network_.mrcnn;
    const MaskHeadFunction* const head = mask_head();
    const int64_t stride =
        head && head->is_stage_5 ? std::max<int64_t>(1, mask.roi_xform_resolution / 7) : 1;
    const int64_t cells = (mask.roi_xform_resolution + stride - 1) / stride;
    const int64_t side = cells * 2 * mask.upsample_ratio;
    need(
        mask.use_fc_output || mask.resolution == side,
        {"MRCNN.RESOLUTION", "MRCNN.ROI_XFORM_RESOLUTION", "MRCNN.UPSAMPLE_RATIO", "MODEL.MASK_ON"},
        "does not fit: MRCNN.RESOLUTION ", mask.resolution, " should be ", side, ", ", cells,
        " cells x 2 x MRCNN.UPSAMPLE_RATIO ", mask.upsample_ratio);
  }

  void check_keypoints() const {
    const KeypointOptions& points = network_.krcnn;
    need(points.num_keypoints >= 1, {"KRCNN.NUM_KEYPOINTS", "MODEL.KEYPOINTS_ON"},
         "does not fit: KRCNN.NUM_KEYPOINTS is ", points.num_keypoints);
    const int64_t up = std::max<int64_t>(1, points.up_scale) * (points.use_deconv ? 2 : 1) *
                       (points.use_deconv_output ? 2 : 1);
    const int64_t side = points.roi_xform_resolution * up;
    need(points.heatmap_size == side,
         {"KRCNN.HEATMAP_SIZE", "KRCNN.ROI_XFORM_RESOLUTION", "KRCNN.UP_SCALE",
          "MODEL.KEYPOINTS_ON"},
         "does not fit: KRCNN.HEATMAP_SIZE ", points.heatmap_size, " should be ", side,
         ", KRCNN.ROI_XFORM_RESOLUTION ", points.roi_xform_resolution, " x upsampling ", up);
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
    check_norm(has_box_head() && normed(box_head()), "FAST_RCNN.CONV_HEAD_DIM",
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

  const DetectorConfig& config_;
  const DetectorOptions& network_;
  const DetectionModelOptions& model_;
};

}  // namespace

void check_detector(const DetectorConfig& config, int processes) {
  DetectorChecks(config).all();
  placing(config.origins, config.path, [&] {
    check(!config.step.options.whole_loss, Key{"TRAIN.WHOLE_LOSS"}, ": a detector's network takes ",
          Key{"TRAIN.IMS_PER_BATCH"},
          " images, the rows of one replica, so it cannot compute the loss of the whole batch; "
          "leave it out");
    check_solver(config.optimizer);
    check_fits(config.step, config.run, processes);
  });
}

}  // namespace lockstep
