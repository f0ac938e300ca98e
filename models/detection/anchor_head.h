// SPDX-License-Identifier: Apache-2.0
// The predictions of an RPN or RetinaNet for the anchors of one feature map.
#pragma once

#include <string>
#include <vector>

#include "lockstep/operators.h"
#include "models/detection/inputs.h"

namespace lockstep {

struct AnchorHead {
  AnchorLevel anchors;  // of height and width 0 if the size of the map is open
  Value logits;         // [I, A, h, w] or [I, A classes, h, w]
  Value deltas;         // [I, 4 A, h, w] or [I, 4 A classes, h, w]
  std::string suffix;   // suffix of Detectron's names: _fpn3, or empty without a pyramid
};

// Makes a head. `base` has a box for each anchor of a cell. The logits have one entry per cell and
// anchor.
AnchorHead anchor_head(const Graph& graph, std::vector<float> base, int64_t stride, Value logits,
                       Value deltas, const std::string& suffix);

// The `most` largest elements of each row of x [I, N], or all if N is smaller.
Best best_of(Graph& graph, Value x, int64_t most, const std::string& name);
// The smaller of `capacity` and the size of axis 1 of x; `capacity` if the size is open.
int64_t capacity_within(const Graph& graph, Value x, int64_t capacity);

// Attributes and operands of AnchorTargets: the anchors of all heads, and the true boxes in input
// coordinates.
std::vector<AnchorLevel> anchors_of(const std::vector<AnchorHead>& heads);
TrueBoxes truth_on_input(Graph& graph, const DetectorInputs& in);

}  // namespace lockstep
