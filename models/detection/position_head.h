// SPDX-License-Identifier: Apache-2.0
// The head of R-FCN (Dai et al. 2016): convolutions compute maps for each bin of a RoI, class and
// box number; a RoI's scores are means over the bins.
#pragma once

#include "builders/detection/coordinates.h"
#include "models/detection/box_heads.h"

namespace lockstep {

// True if the second stage is R-FCN's, which has no layers after pooling.
bool scores_by_position(const DetectorOptions& options);

// Pools the scores and box deltas of rois [I, R, 4].
BoxScores position_scores(Net& net, const DetectorOptions& options, const Feature& map,
                          PictureBoxes rois, Value im_info);

}  // namespace lockstep
