// The second stage of a detector: RoIs are pooled, classified, and their boxes refined (Girshick
// 2015).
#pragma once

#include "models/detection/resnet_body.h"
#include "models/detection/rpn.h"

namespace lockstep {

// Turns pooled RoIs [n, C, r, r] into features of the whole RoI, [n, channels, ..].
using BoxHead = Feature (*)(Net& net, const DetectorOptions& options, const ResidualBody& body,
                            const Feature& pooled);
Feature box_head_2mlp(Net& net, const DetectorOptions& options, const ResidualBody& body,
                      const Feature& pooled);
Feature box_head_convs_fc(Net& net, const DetectorOptions& options, const ResidualBody& body,
                          const Feature& pooled);
Feature box_head_convs_gn_fc(Net& net, const DetectorOptions& options, const ResidualBody& body,
                             const Feature& pooled);
Feature box_head_residual(Net& net, const DetectorOptions& options, const ResidualBody& body,
                          const Feature& pooled);

// How a head pools its RoIs: FAST_RCNN, MRCNN and KRCNN each say so.
struct RoiPooling {
  std::string method;  // RoIAlign or RoIPoolF
  int64_t resolution = 7;
  int64_t sampling_ratio = 0;
};
// Level of each RoI [n, 4], half-open in input coordinates, by its area, counted from
// ROI_MIN_LEVEL: larger RoIs take coarser levels.
Value roi_levels(Graph& graph, const FpnOptions& fpn, Value rois, const std::string& name);
// rois [I, R, 4] in picture coordinates -> [I R, C, resolution, resolution].
Feature pooled_rois(Net& net, const DetectorOptions& options, const Features& features, Value rois,
                    Value im_info, const RoiPooling& pooling, const std::string& name);

// Training: samples RoIs and adds loss_cls, loss_bbox and accuracy_cls. Prediction: outputs.
void box_stage(Net& net, const DetectorOptions& options, const ResidualBody& body, BoxHead head,
               const Features& features, const Proposals& proposals, const DetectorInputs& in);

// Candidates [I, N, ..] in picture coordinates (see detection_results) to the outputs boxes
// [I, D, 4], scores, classes [I, D] and count [I].
struct Candidates {
  Value boxes, scores, classes;
  double score_threshold = 0;
};
void output_detections(Net& net, const DetectorOptions& options, const Candidates& candidates,
                       const DetectorInputs& in);

}  // namespace lockstep
