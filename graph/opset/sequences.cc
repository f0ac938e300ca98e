// SPDX-License-Identifier: Apache-2.0
#include "graph/opset/sequences.h"

#include <numeric>

#include "graph/opset/newer_node.h"

namespace lockstep {

namespace {

constexpr int64_t kMost = int64_t{1} << 40;  // elements along one axis

}  // namespace

bool SplitSequences::knows(const std::string& type) {
  return type == "SplitToSequence" || type == "SequenceAt";
}

void SplitSequences::adopt(Graph& graph, onnx::NodeProto proto, int64_t opset) {
  if (proto.output_size() == 0 || proto.input_size() == 0)
    fail(NewerNode(graph, std::move(proto), opset).description(), ": has no operand or no result");
  const std::string sequence = proto.op_type() == "SequenceAt" ? proto.input(0) : proto.output(0);
  if (proto.op_type() == "SplitToSequence") {
    NewerNode node(graph, std::move(proto), opset);
    Split split{.data = node.input(0), .sizes = {1}, .one_for_all = true};
    split.axis = normal_axis(node, node.attributes().integer("axis", 0), node.shape(0).size());
    if (const Value sizes = node.input(1)) {
      split.sizes = node.integers(1, "sizes");
      split.one_for_all = graph.shape(sizes).empty();
    } else {
      split.squeezed = node.attributes().integer("keepdims", 1) == 0;
    }
    splits_[sequence] = std::move(split);
    return;
  }
  // In the graph, only the position is an operand.
  const std::string name = proto.input(0);
  proto.set_input(0, "");
  NewerNode node(graph, std::move(proto), opset);
  const auto found = splits_.find(name);
  if (found == splits_.end())
    node.refuse("its sequence '", name, "' is not the output of SplitToSequence");
  const Split& split = found->second;
  const std::vector<int64_t> position = node.integers(1, "position");
  if (position.size() != 1 || split.sizes.empty())
    fail(node.description(), ": ", position.size(), " positions in ", split.sizes.size(), " parts");
  int64_t at = position[0], start = 0, size = split.sizes[0];
  if (split.one_for_all) {
    if (at < 0) node.refuse("position ", at, " from the end of parts of one size is not supported");
    const Dim whole = graph.shape(split.data)[split.axis];
    if (size < 1 || (whole.known() && at > (whole.size() - 1) / size))
      fail(node.description(), ": position ", at, " is outside of parts of ", size, " out of ",
           graph.type(split.data));
    if (at > kMost / size) node.refuse("position ", at, " of parts of ", size, " is not supported");
    start = at * size;
  } else {
    const auto parts = static_cast<int64_t>(split.sizes.size());
    if (at < -parts || at >= parts)
      fail(node.description(), ": position ", at, " is outside of ", parts, " parts");
    if (at < 0) at += parts;
    size = split.sizes[at];
    start = std::accumulate(split.sizes.begin(), split.sizes.begin() + at, int64_t{0});
  }
  const std::vector<Value> operands{split.data, node.vector({start}), node.vector({start + size}),
                                    node.vector({split.axis})};
  if (split.squeezed)
    node.become("Squeeze", {node.add("Slice", operands), node.vector({split.axis})});
  else
    node.become("Slice", operands);
}

}  // namespace lockstep
