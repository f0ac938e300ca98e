// SPDX-License-Identifier: Apache-2.0
// RetinaNet (Lin et al. 2017): every anchor of a pyramid is classified and refined in one stage.
#pragma once

#include "models/detection/features.h"
#include "models/detection/inputs.h"

namespace lockstep {

// Training: losses fl_fpn3, retnet_loss_bbox_fpn3, .. by level, metrics retnet_fg_num and
// retnet_bg_num. Prediction: outputs.
void retinanet(Net& net, const DetectorOptions& options, const Features& features,
               const DetectorInputs& in);

}  // namespace lockstep
