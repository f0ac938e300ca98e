// SPDX-License-Identifier: Apache-2.0
// Random streams. A node that draws random numbers in a step (Op::draws) has the number of its
// stream as attribute `__stream`, also in files. So has the node of the backward pass that repeats
// the draws. Kernels read only this number, so draws do not change with a node's name or its
// replica's device.
//
// A stream is a hash of the node's name (or of its attribute `seed`), of the replica and of the
// part of the batch, so that no two nodes draw the same numbers. An operator that draws by example
// (Op::draws_by_example) uses the stream of replica 0 on all replicas. While one replica's graph is
// built, `__stream` holds the hash of the name alone.
//
// A source of random numbers (Op::random without Op::draws, such as RandomNormalLike) gets a stream
// only in a training step. Its hash begins with the name of its result: exporters give several
// nodes one name. For prediction a source has the attribute `__fixed_stream` instead, so that a
// prediction is a function of its inputs. A source of initial values has neither.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "lockstep/graph.h"

namespace onnx {
class NodeProto;
}

namespace lockstep {

// Returns the stream of a node that draws, or repeats draws.
int64_t random_stream_of(const Node& node);
std::pair<std::string, AttributeValue> random_stream_attribute(int64_t stream);
bool has_random_stream(const Node& node);
std::optional<int64_t> fixed_random_stream_of(const Node& node);

// Sets the streams of one replica's drawing nodes and sources, by their names.
void name_random_streams(Graph& one);
// Sets the fixed streams of a prediction graph's sources: the hash of the attribute `seed`, or of
// the name of the result.
void fix_random_streams(Graph& prediction);
// Assigns the node to a later part of the batch.
void set_random_part(Graph& one, int node, int part);
// Completes the hash: name, part and replica; the name alone if the node draws by example.
void finish_random_stream(Graph& all, int node, int replica);

// Sets the stream of a node without one: the hash of its full name on replica 0.
void write_random_stream(onnx::NodeProto& proto);

}  // namespace lockstep
