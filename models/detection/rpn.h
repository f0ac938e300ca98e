// Region proposal networks (Ren et al. 2015), on one feature map or on the levels of a pyramid.
#pragma once

#include <vector>

#include "models/detection/features.h"
#include "models/detection/inputs.h"

namespace lockstep {

// The head of one level.
struct RpnLevel {
  AnchorLevel anchors;
  Value logits;        // [I, A, h, w]
  Value deltas;        // [I, 4 A, h, w]
  std::string suffix;  // of Detectron's names: _fpn3, or nothing without a pyramid
};
std::vector<RpnLevel> rpn_heads(Net& net, const DetectorOptions& options, const Features& features);

void rpn_losses(Net& net, const DetectorOptions& options, const std::vector<RpnLevel>& levels,
                const DetectorInputs& in);

// The best proposals of each image, after suppression within each level.
struct Proposals {
  Value boxes;    // [I, P, 4] in picture coordinates, best first
  Value logits;   // [I, P]
  Value sources;  // [I, P]: the anchor's number over all levels; -1 in empty places
};
Proposals rpn_proposals(Net& net, const DetectorOptions& options,
                        const std::vector<RpnLevel>& levels, const DetectorInputs& in);
// Fed ones.
Proposals fed_proposals(Net& net, const DetectorInputs& in);

}  // namespace lockstep
