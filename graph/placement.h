// SPDX-License-Identifier: Apache-2.0
// The only link between computation and placement: a node's logical replica number. Only this file
// knows its spelling in the file (attribute `__replica`).
#pragma once

#include <string>
#include <vector>

#include "lockstep/training_model.h"

namespace onnx {
class AttributeProto;
class NodeProto;
}  // namespace onnx

namespace lockstep {

void write_replica(onnx::NodeProto& proto, int replica);
int read_replica(const onnx::NodeProto& proto);  // kEveryReplica if there is none
void forget_replica(onnx::NodeProto& proto);
bool is_replica(const onnx::AttributeProto& attribute);    // the number that read_replica() reads
bool is_placement(const onnx::AttributeProto& attribute);  // says where, not what

// For a collective, which belongs to no single replica: its output i lives on replicas[i].
std::pair<std::string, AttributeValue> replicas_attribute(const std::vector<int64_t>& replicas);

// The replica that a value belongs to: its producer's; for an input its owner's, or if that is
// unknown its users'. kEveryReplica if that is no single replica.
int home_of(const Graph& graph, Value value, const Owners& owners = {});
// The replica whose worker holds the value; replica 0 for values of every replica.
int replica_of(const Graph& graph, Value value, const Owners& owners = {});

}  // namespace lockstep
