// SPDX-License-Identifier: Apache-2.0
// The second stage of a detector, which pools RoIs, classifies them and refines their boxes
// (Girshick 2015).
#pragma once

#include "models/detection/box_heads.h"
#include "models/detection/rpn.h"

namespace lockstep {

// Training: samples RoIs and adds loss_cls, loss_bbox and accuracy_cls. Prediction: adds the
// outputs.
void box_stage(Net& net, const DetectorOptions& options, const ResidualBody& body, BoxHead head,
               const Features& features, const Proposals& proposals, const DetectorInputs& in);

}  // namespace lockstep
