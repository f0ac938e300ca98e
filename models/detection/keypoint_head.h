// SPDX-License-Identifier: Apache-2.0
// Keypoint heads (He et al. 2017), which predict a heatmap for each point of a RoI's object.
#pragma once

#include "models/detection/catalogue.h"
#include "models/detection/object_rois.h"

namespace lockstep {

// Training: adds loss_kps, or loss_kps_normalized without KRCNN.NORMALIZE_BY_VISIBLE_KEYPOINTS.
// Prediction: adds the output heatmaps [I, N, K, S, S], logits, and 0 in empty places.
void keypoint_head(Net& net, const DetectorOptions& options, const ResidualBody& body,
                   const Features& features, const ObjectRois& rois, const TrueShapes& truth);

// The head that KRCNN.ROI_KEYPOINTS_HEAD names.
const KeypointHeadFunction& keypoint_head_of(const DetectorOptions& options);

}  // namespace lockstep
