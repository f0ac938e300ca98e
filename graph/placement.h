// The one crossing between "what is computed" and "where": a node's logical replica number. Only
// this room knows how it is spelled in the file (attribute `__replica`).
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace onnx {
class NodeProto;
}

namespace lockstep {

void write_replica(onnx::NodeProto& proto, int replica);
int read_replica(const onnx::NodeProto& proto);  // kEveryReplica when there is none

// A collective belongs to no single replica; its output i lives on replicas[i].
std::pair<std::string, AttributeValue> replicas_attribute(const std::vector<int64_t>& replicas);

// The values that stand for one thing on every replica: `conv1_w` is gpu_0/conv1_w, gpu_1/conv1_w.
// Names are full names in the step graph; index = replica.
struct Replicated {
  std::string name;  // without scope
  std::vector<std::string> values;
};

// The replica whose worker holds the value: its producer's, or its users' for an input; values
// that several replicas use, or none, belong to replica 0.
int replica_of(const Graph& graph, Value value);

}  // namespace lockstep
