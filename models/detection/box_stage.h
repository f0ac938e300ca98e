// SPDX-License-Identifier: Apache-2.0
// Classifies RoIs and refines their boxes (Girshick 2015): scores, their losses in training, and
// the results in prediction.
#pragma once

#include <optional>

#include "models/detection/catalogue.h"
#include "models/detection/rpn.h"
#include "operators/boxes/boxes.h"

namespace lockstep {

// The scores of rois [I, R, 4]. `head` is null for R-FCN.
BoxScores scores_of_boxes(Net& net, const DetectorOptions& options, ResidualHead& stage_5,
                          const BoxHeadFunction* head, const Features& features, PictureBoxes rois,
                          Value im_info);

// Adds loss_cls, loss_bbox and accuracy_cls.
void box_losses(Net& net, const DetectorOptions& options, const BoxScores& out,
                const SampledProposals& sample);

// Adds the outputs of boxes (output_detections).
std::optional<Detections> box_outputs(Net& net, const DetectorOptions& options,
                                      const BoxScores& out, const Proposals& proposals,
                                      const DetectorInputs& in);

}  // namespace lockstep
