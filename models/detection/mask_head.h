// SPDX-License-Identifier: Apache-2.0
// Mask heads (He et al. 2017), which predict the mask of each RoI's object.
#pragma once

#include "models/detection/catalogue.h"
#include "models/detection/object_rois.h"

namespace lockstep {

// Training: adds loss_mask. Prediction: adds the output masks [I, N, M, M], the probabilities of
// each place's class, and 0 in empty places. `of_boxes` is the box head's stage 5.
void mask_head(Net& net, const DetectorOptions& options, const ResidualBody& body,
               ResidualHead& of_boxes, const Features& features, const ObjectRois& rois,
               const TrueShapes& truth);

// The head that MRCNN.ROI_MASK_HEAD names.
const MaskHeadFunction& mask_head_of(const DetectorOptions& options);

}  // namespace lockstep
