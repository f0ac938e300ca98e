// SPDX-License-Identifier: Apache-2.0
// The predictions of an RPN or RetinaNet for the anchors of one feature map.
#pragma once

#include <string>
#include <vector>

#include "models/detection/inputs.h"

namespace lockstep {

struct AnchorHead {
  AnchorLevel anchors;
  Value logits;        // [I, A, h, w] or [I, A classes, h, w]
  Value deltas;        // [I, 4 A, h, w] or [I, 4 A classes, h, w]
  std::string suffix;  // suffix of Detectron's names: _fpn3, or empty without a pyramid
};

// Makes a head. `base` has a box for each anchor of a cell. The logits have one entry per cell and
// anchor.
AnchorHead anchor_head(const Graph& graph, std::vector<float> base, int64_t stride, Value logits,
                       Value deltas, const std::string& suffix);

// Attributes and operands of AnchorTargets: the anchors of all heads, and the true boxes in input
// coordinates.
std::vector<AnchorLevel> anchors_of(const std::vector<AnchorHead>& heads);
TrueBoxes truth_on_input(Graph& graph, const DetectorInputs& in);

}  // namespace lockstep
