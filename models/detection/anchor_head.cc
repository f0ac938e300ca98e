// SPDX-License-Identifier: Apache-2.0
#include "models/detection/anchor_head.h"

#include <algorithm>

#include "builders/detection/coordinates.h"

namespace lockstep {

AnchorHead anchor_head(const Graph& graph, std::vector<float> base, int64_t stride, Value logits,
                       Value deltas, const std::string& suffix) {
  const Shape& map = graph.shape(logits);
  const bool open = !map[2].known() || !map[3].known();
  return {{std::move(base), stride, open ? 0 : map[2].size(), open ? 0 : map[3].size()},
          logits,
          deltas,
          suffix};
}

Best best_of(Graph& graph, Value x, int64_t most, const std::string& name) {
  const Dim all = graph.shape(x)[1];
  if (all.known()) return top_k(graph, x, std::min(most, all.size()), 1, name);
  const Value size = graph.add_value(
      {.type = "Shape", .inputs = {x}, .attributes = {{"start", int64_t{1}}, {"end", int64_t{2}}}},
      name + "_of");
  const Value limit = graph.constant(name + "_most", Literal::vector({most}));
  const Value count = graph.add_value({.type = "Min", .inputs = {size, limit}}, name + "_k");
  const Node node = graph.add(
      {.type = "TopK", .inputs = {x, count}, .attributes = {{"axis", int64_t{1}}}, .outputs = 2},
      name);
  return {node.outputs()[0], node.outputs()[1]};
}

int64_t capacity_within(const Graph& graph, Value x, int64_t capacity) {
  const Dim all = graph.shape(x)[1];
  return all.known() ? std::min(capacity, all.size()) : capacity;
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
