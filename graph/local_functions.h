// SPDX-License-Identifier: Apache-2.0
// Bodies of Lockstep's operators as local functions of an ONNX file. Another engine runs a node by
// the function of its name; Lockstep runs its own operator and ignores the function. For bodies
// with values whose sizes depend on data, which a plan cannot have.
#pragma once

#include <vector>

#include "lockstep/graph.h"

namespace onnx {
class ModelProto;
}

namespace lockstep {

// Metadata of a network for other engines. Its file gets local functions.
inline constexpr const char* kPortable = "portable";

// The body of one node, with an input for each operand that is not a small constant.
struct NodeBody {
  Graph graph;
  std::vector<Value> results;  // one for each output of the node
};
NodeBody body_of(const Node& node);

// True if the node has a body in which the size of a value depends on data.
bool has_open_body(const Node& node);

// Adds the bodies of all nodes of Lockstep's domain. A function has the name of its operator;
// another body of the same operator gets the name with a number, _2, _3, .., and so do its nodes in
// `proto`. `graph` has the nodes of proto.graph(), in this order.
void add_local_functions(const Graph& graph, onnx::ModelProto& proto);

// Gives nodes of numbered functions the names of their operators, and drops the functions of
// Lockstep's domain.
void drop_local_functions(onnx::ModelProto& proto, const OpSet& ops);

}  // namespace lockstep
