// SPDX-License-Identifier: Apache-2.0
// RetinaNet (Lin et al. 2017): classifies and refines every anchor of a pyramid in one stage.
#pragma once

#include "models/detection/features.h"
#include "models/detection/inputs.h"

namespace lockstep {

// Training: adds losses fl_fpn3, retnet_loss_bbox_fpn3, .. by level, and metrics retnet_fg_num and
// retnet_bg_num. Prediction: adds the outputs.
void retinanet(Net& net, const DetectorOptions& options, const Features& features,
               const DetectorInputs& in);

}  // namespace lockstep
