// SPDX-License-Identifier: Apache-2.0
// The second stage of a detector: its heads read pooled RoIs.
#pragma once

#include "models/detection/catalogue.h"
#include "models/detection/rpn.h"

namespace lockstep {

// Training: samples RoIs and adds the losses of each head. Prediction: adds the outputs. `head` is
// null for R-FCN.
void second_stage(Net& net, const DetectorOptions& options, const ResidualBody& body,
                  const BoxHeadFunction* head, const Features& features, const Proposals& proposals,
                  const DetectorInputs& in);

// Predicts masks and heatmaps of boxes that are inputs (Predicts::shapes).
void shapes_of_fed_boxes(Net& net, const DetectorOptions& options, const ResidualBody& body,
                         const Features& maps);

// True with MODEL.MASK_ON or MODEL.KEYPOINTS_ON.
bool has_shape_heads(const DetectorOptions& options);
// Checks the heads of masks and keypoints. `box_head` is null without FAST_RCNN.ROI_BOX_HEAD.
void check_shape_heads(const DetectorOptions& options, const BodyFunction& body,
                       const BoxHeadFunction* box_head);

}  // namespace lockstep
