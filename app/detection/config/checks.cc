// SPDX-License-Identifier: Apache-2.0
#include "app/detection/config/checks.h"

#include <algorithm>
#include <cmath>

#include "app/detection/config/detector_checks.h"
#include "builders/all_reduce/all_reduce.h"
#include "builders/detection/anchors.h"
#include "builders/optimizers/lr_policy.h"
#include "models/detection/inputs.h"
#include "models/detection/position_head.h"

namespace lockstep {
namespace {

// The finest and the coarsest level that a ResNet computes itself.
constexpr int64_t kFinestLevel = 2, kCoarsestOfBody = 5;

class DetectorChecks : DetectorKeys {
 public:
  using DetectorKeys::DetectorKeys;

  void all() const {
    check_schedule();
    check_parts();
    check_classes();
    check_body();
    check_heads();
    check_proposals();
    check_thresholds();
    check_testing(config_);
    if (network_.fpn.fpn_on) check_levels();
    check_anchors();
    check_heads_fit(config_);
    check_jitter();
  }

 private:
  void check_schedule() const {
    const LrSchedule& schedule = config_.schedule;
    const LrPolicy* const policy = find_lr_policy(schedule.policy);
    if (policy && policy->has_steps) {
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
    need((family_ && family_->is_dense) == dense, {"RETINANET.RETINANET_ON"},
         dense ? "is true, but MODEL.TYPE is " : "should be true for MODEL.TYPE ", model_.type);
    need(!dense || is_pyramid, {"MODEL.CONV_BODY"}, body,
         " is no feature pyramid, which MODEL.TYPE retinanet needs");
    need(!dense || network_.fpn.multilevel_rpn, {"FPN.MULTILEVEL_RPN"},
         "should be true for RetinaNet, which reads FPN.RPN_MIN_LEVEL to RPN_MAX_LEVEL");
    const bool dilated = network_.resnets.res5_dilation > 1;
    need(!dilated || !(is_pyramid || is_one_level), {"RESNETS.RES5_DILATION"},
         network_.resnets.res5_dilation, " does not fit a pyramid: each level halves the size");
    const bool has_stage_5 = function.has_stage_5();
    const int64_t stride = function.stride(network_.resnets.res5_dilation);
    need(!config_.origins.is_set("RPN.STRIDE") || network_.fpn.multilevel_rpn ||
             network_.rpn.stride == stride,
         {"RPN.STRIDE"}, network_.rpn.stride, " should be ", stride, ", the stride of ", body);
    const BoxHeadFunction* const head = box_head();
    need(!reads_box_head() || !has_stage_5 || !head || !head->is_stage_5,
         {"FAST_RCNN.ROI_BOX_HEAD", "MODEL.CONV_BODY"}, "is stage 5, which MODEL.CONV_BODY ", body,
         " has already; it needs a conv4 body");
    need(!reads_box_head() || function.is_residual() || !head || !head->is_stage_5,
         {"FAST_RCNN.ROI_BOX_HEAD", "MODEL.CONV_BODY"},
         "is stage 5 of a ResNet, but MODEL.CONV_BODY ", body, " is no ResNet");
    if (!scores_by_position(network_)) return;
    need(!is_pyramid, {"MODEL.CONV_BODY"}, body,
         " is a feature pyramid; MODEL.TYPE rfcn reads one feature map");
    need(!model_.rpn_only, {"MODEL.RPN_ONLY"},
         "is true, but MODEL.TYPE rfcn has a second stage; an RPN alone is generalized_rcnn");
  }

  void check_heads() const {
    need(!reads_box_head() || !network_.fast_rcnn.roi_box_head.empty(), {"FAST_RCNN.ROI_BOX_HEAD"},
         "is missing: fast_rcnn_heads.add_roi_2mlp_head, ..");
    need_rois(model_.mask_on, "MODEL.MASK_ON");
    need_rois(model_.keypoints_on, "MODEL.KEYPOINTS_ON");
    need(!model_.mask_on || !network_.mrcnn.roi_mask_head.empty(),
         {"MODEL.MASK_ON", "MRCNN.ROI_MASK_HEAD"},
         "is true, but there is no mask head: MRCNN.ROI_MASK_HEAD "
         "mask_rcnn_heads.mask_rcnn_fcn_head_v1up4convs, ..");
    need(!model_.keypoints_on || !network_.krcnn.roi_keypoints_head.empty(),
         {"MODEL.KEYPOINTS_ON", "KRCNN.ROI_KEYPOINTS_HEAD"},
         "is true, but there is no keypoint head: KRCNN.ROI_KEYPOINTS_HEAD "
         "keypoint_rcnn_heads.add_roi_pose_head_v1convX, ..");
  }

  // Detectron trains such a network without the head, and its test then fails.
  void need_rois(bool on, const std::string& key) const {
    need(!on || !model_.rpn_only, {key, "MODEL.RPN_ONLY"},
         "is true, but MODEL.RPN_ONLY is true, too: an RPN alone has no RoI heads; set one of them "
         "to false");
    need(!on || reads_box_head(), {key, "MODEL.TYPE"}, "is true, but MODEL.TYPE ", model_.type,
         " has no RoI heads; a network of MODEL.TYPE generalized_rcnn has them");
  }

  void check_proposals() const {
    if (!takes_proposals(network_)) return;
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
    need(has_rois || !reads_box_head(), {"FPN.MULTILEVEL_ROIS", "FPN.FPN_ON"},
         "should be true: RoIs of a feature pyramid use its levels");
    const std::string& pooling = network_.fast_rcnn.roi_xform_method;
    need(!reads_box_head() || pooling == "RoIAlign", {"FAST_RCNN.ROI_XFORM_METHOD", "FPN.FPN_ON"},
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

  void check_jitter() const {
    const LargeJitter& jitter = config_.train.jitter;
    if (!jitter.on()) return;
    const int64_t stride = input_stride(network_);
    need(jitter.height % stride == 0 && jitter.width % stride == 0, {"TRAIN.JITTER.SIZE"},
         jitter.height, "x", jitter.width, ": height and width should be multiples of ", stride,
         ", the coarsest stride");
    const std::vector<double>& ratios = jitter.ratios;
    need(ratios.size() == 2 && ratios[0] <= ratios[1], {"TRAIN.JITTER.RATIOS"},
         "should be two numbers, the smaller first, such as [0.1, 2]");
    const DetectionShape& shape = network_.shape;
    need(shape.height == 0 || (shape.height == jitter.height && shape.width == jitter.width),
         {"IMAGE", "TRAIN.JITTER.SIZE"}, "does not fit: IMAGE is ", shape.height, "x", shape.width,
         ", TRAIN.JITTER.SIZE ", jitter.height, "x", jitter.width, "; leave one of them out");
  }
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
