// SPDX-License-Identifier: Apache-2.0
// Region proposal networks (Ren et al. 2015), on one feature map or on the levels of a pyramid.
#pragma once

#include <vector>

#include "models/detection/anchor_head.h"
#include "models/detection/features.h"

namespace lockstep {

std::vector<AnchorHead> rpn_heads(Net& net, const DetectorOptions& options,
                                  const Features& features);

void rpn_losses(Net& net, const DetectorOptions& options, const std::vector<AnchorHead>& levels,
                const DetectorInputs& in);

// The best proposals of each image, after suppression within each level.
struct Proposals {
  PictureBoxes boxes;  // [I, P, 4], best first
  Value logits;        // [I, P]
  Value sources;       // [I, P]: index of the anchor over all levels; -1 in empty slots
};
Proposals rpn_proposals(Net& net, const DetectorOptions& options,
                        const std::vector<AnchorHead>& levels, const DetectorInputs& in);
// The proposals that are fed as an input.
Proposals fed_proposals(Net& net, const DetectorInputs& in);

}  // namespace lockstep
