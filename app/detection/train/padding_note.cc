// SPDX-License-Identifier: Apache-2.0
#include "app/detection/train/padding_note.h"

#include "lockstep/error.h"
#include "operators/norm/norm.h"

namespace lockstep {
namespace {

// Counts normalisations of whole pictures: their first dimension is the number of pictures in
// `data`. RoIs are more.
int normalisations_of(const Graph& graph, const Dim& pictures) {
  int count = 0;
  for (int index = 0; index < graph.node_count(); ++index) {
    const Node node = graph.node(index);
    if (!sums_over_places(node)) continue;
    const Shape& shape = graph.shape(node.inputs()[0]);
    count += !shape.empty() && shape[0] == pictures;
  }
  return count;
}

}  // namespace

std::string padding_note(const Graph& prediction) {
  for (Value input : prediction.inputs()) {
    if (prediction.name(input) != "data") continue;
    const int count = normalisations_of(prediction, prediction.shape(input)[0]);
    if (count == 0) break;
    return join(count, count == 1 ? " normalisation counts" : " normalisations count",
                " the padding of a picture, so its boxes and scores depend on the size that it is "
                "padded to: `test`, `infer` and an exported network pad each picture to its own "
                "size, training pads to few sizes and a run's model.onnx to one size "
                "(docs/detection.md, Padded sizes)");
  }
  return "";
}

}  // namespace lockstep
