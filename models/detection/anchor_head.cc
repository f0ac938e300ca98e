// SPDX-License-Identifier: Apache-2.0
#include "models/detection/anchor_head.h"

#include "builders/detection/coordinates.h"

namespace lockstep {

AnchorHead anchor_head(const Graph& graph, std::vector<float> base, int64_t stride, Value logits,
                       Value deltas, const std::string& suffix) {
  const Shape& map = graph.shape(logits);
  return {{std::move(base), stride, map[2].size(), map[3].size()}, logits, deltas, suffix};
}

std::vector<AnchorLevel> anchors_of(const std::vector<AnchorHead>& heads) {
  std::vector<AnchorLevel> levels;
  for (const AnchorHead& head : heads) levels.push_back(head.anchors);
  return levels;
}

TrueBoxes truth_on_input(Graph& graph, const DetectorInputs& in) {
  TrueBoxes truth = in.truth;
  const PictureBoxes boxes(truth.boxes);
  truth.boxes = to_input(graph, boxes, in.im_info, "gt_boxes_scaled").value;
  return truth;
}

}  // namespace lockstep
