// Which random numbers a node draws in a step. Every node of an operator that draws (Op::draws)
// carries the number of its stream, in the file too (attribute `__stream`), and so does the node of
// the reverse pass that draws the same again. Kernels read nothing else: the numbers stay the same
// whatever a node is called and wherever its replica runs.
//
// A stream is a hash of the node's name (or of its attribute `seed`), of the replica and of the
// part of the batch, so no two of them draw alike. While one replica's graph is built, `__stream`
// holds the hash of the name alone.
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
bool has_random_stream(const Node& node);

// The nodes of one replica that draw, by their names.
void name_random_streams(Graph& one);
// That node belongs to a later part of the batch.
void set_random_part(Graph& one, int node, int part);
// The whole hash: of name, part and replica.
void finish_random_stream(Graph& all, int node, int replica);

// For a node that has no stream yet: that of its full name, on replica 0.
void write_random_stream(onnx::NodeProto& proto);

}  // namespace lockstep
