// Which random numbers a node draws in a step. Every node of an operator that draws (Op::streams)
// carries the number of its stream, in the file too (attribute `__stream`), and so does the node of
// the reverse pass that draws the same again. Kernels read nothing else: the numbers stay the same
// whatever a node is called, wherever its replica runs.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "graph/graph.h"

namespace onnx {
class NodeProto;
}

namespace lockstep {

// Of a node that draws, or draws again.
int64_t stream_of(const Node& node);
std::pair<std::string, AttributeValue> stream_attribute(int64_t stream);

// Part `part` of a share of the batch, on replica `replica` of all.
struct Share {
  int replica = 0;
  int part = 0;
};
// Gives the nodes from `first` on that draw the streams of a share. Two shares' differ; those of
// the node's name without `scope`, or of the `seed` that its file gave it, are told apart by these.
void number_streams(Graph& graph, int first, const std::string& scope, const Share& share);

// For a node that has no stream yet: that of its full name.
void write_stream(onnx::NodeProto& proto);

}  // namespace lockstep
