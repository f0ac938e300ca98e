// Which random numbers a node draws in a step. Every node of an operator that draws (Op::draws)
// carries the number of its stream, in the file too (attribute `__stream`), and so does the node of
// the reverse pass that draws the same again. Kernels read nothing else: the numbers stay the same
// whatever a node is called and wherever its replica runs.
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
int64_t random_stream_of(const Node& node);
std::pair<std::string, AttributeValue> random_stream_attribute(int64_t stream);

struct BatchPart {
  int replica = 0;  // of all in the run
  int part = 0;     // of its share of the batch
};
// Numbers the streams of the nodes from `first` on. A stream is a hash of the node's name without
// `scope` (or of its attribute `seed`), the replica and the part, so no two parts draw alike.
void number_random_streams(Graph& graph, int first, const std::string& scope,
                           const BatchPart& part);

// For a node that has no stream yet: that of its full name.
void write_random_stream(onnx::NodeProto& proto);

}  // namespace lockstep
