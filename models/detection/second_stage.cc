// SPDX-License-Identifier: Apache-2.0
#include "models/detection/second_stage.h"

#include "models/detection/box_stage.h"
#include "models/detection/keypoint_head.h"
#include "models/detection/mask_head.h"
#include "models/detection/roi_sampling.h"

namespace lockstep {
namespace {

// `of_boxes` is the box head's stage 5.
void shapes_of_found(Net& net, const DetectorOptions& options, const ResidualBody& body,
                     ResidualHead& of_boxes, const Features& features, const ObjectRois& rois) {
  if (options.model.mask_on) mask_head(net, options, body, of_boxes, features, rois, {});
  if (options.model.keypoints_on) keypoint_head(net, options, body, features, rois, {});
}

void check_pooling(const std::string& method, const std::string& key, bool of_levels) {
  check(method == "RoIAlign" || (method == "RoIPoolF" && !of_levels), key, ": '", method,
        "', should be RoIAlign", of_levels ? " for a feature pyramid" : " or RoIPoolF");
}

void check_mask_head(const DetectorOptions& options, const BodyFunction& body,
                     const BoxHeadFunction* box_head) {
  const MaskHeadFunction& head = mask_head_of(options);
  check(!head.is_stage_5 || body.is_residual(), "MRCNN.ROI_MASK_HEAD: ", head.name,
        " is stage 5 of a ResNet, and MODEL.CONV_BODY ", body.name, " is no ResNet");
  check(!head.shares_stage_5 || (box_head && box_head->is_stage_5),
        "MRCNN.ROI_MASK_HEAD: ", head.name,
        " shares stage 5 with the box head, and FAST_RCNN.ROI_BOX_HEAD ",
        options.fast_rcnn.roi_box_head, " has no stage 5");
  check_pooling(options.mrcnn.roi_xform_method, "MRCNN.ROI_XFORM_METHOD", body.top == Top::pyramid);
}

void check_keypoint_head(const DetectorOptions& options, const BodyFunction& body) {
  const KeypointHeadFunction& head = keypoint_head_of(options);
  check(!head.is_stage_5 || body.is_residual(), "KRCNN.ROI_KEYPOINTS_HEAD: ", head.name,
        " is stage 5 of a ResNet, and MODEL.CONV_BODY ", body.name, " is no ResNet");
  check(options.krcnn.num_keypoints >= 1, "KRCNN.NUM_KEYPOINTS: ", options.krcnn.num_keypoints,
        ", should be at least 1");
  check_pooling(options.krcnn.roi_xform_method, "KRCNN.ROI_XFORM_METHOD", body.top == Top::pyramid);
}

}  // namespace

void second_stage(Net& net, const DetectorOptions& options, const ResidualBody& body,
                  const BoxHeadFunction* head, const Features& features, const Proposals& proposals,
                  const DetectorInputs& in) {
  ResidualHead stage_5(net, options, body);
  const auto scores_of = [&](PictureBoxes rois) {
    return scores_of_boxes(net, options, stage_5, head, features, rois, in.im_info);
  };
  if (net.training()) {
    const SampledProposals sample = sampled_rois(net.graph, options, proposals, in);
    box_losses(net, options, scores_of(PictureBoxes(sample.rois)), sample);
    if (options.model.mask_on)
      mask_head(net, options, body, stage_5, features,
                objects_among(net.graph, options.train, sample, in.im_info), in.shapes);
    if (options.model.keypoints_on)
      keypoint_head(net, options, body, features,
                    objects_with_points(net.graph, options, proposals, in), in.shapes);
    return;
  }
  const auto found = box_outputs(net, options, scores_of(proposals.boxes), proposals, in);
  if (found && options.test.predicts == Predicts::all && has_shape_heads(options))
    shapes_of_found(net, options, body, stage_5, features,
                    {PictureBoxes(found->boxes), found->classes, none, in.im_info});
}

void shapes_of_fed_boxes(Net& net, const DetectorOptions& options, const ResidualBody& body,
                         const Features& maps) {
  const int64_t places = options.test.shape_places;
  check(has_shape_heads(options),
        "the network has no head of masks or keypoints "
        "(MODEL.MASK_ON, MODEL.KEYPOINTS_ON)");
  check(places > 0, "shape_places is ", places, ", should be the number of boxes");
  ObjectRois rois;
  rois.im_info = net.input("im_info", {DType::float32, {1, 3}});
  rois.boxes = PictureBoxes(net.input("boxes", {DType::float32, {1, places, 4}}));
  rois.classes = net.input("classes", {DType::int64, {1, places}});
  ResidualHead stage_5(net, options, body);
  shapes_of_found(net, options, body, stage_5, maps, rois);
}

bool has_shape_heads(const DetectorOptions& options) {
  return options.model.mask_on || options.model.keypoints_on;
}

void check_shape_heads(const DetectorOptions& options, const BodyFunction& body,
                       const BoxHeadFunction* box_head) {
  if (options.model.mask_on) check_mask_head(options, body, box_head);
  if (options.model.keypoints_on) check_keypoint_head(options, body);
}

}  // namespace lockstep
