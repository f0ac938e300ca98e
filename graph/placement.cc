// SPDX-License-Identifier: Apache-2.0
#include "graph/placement.h"

#include <algorithm>

#include "graph/attribute_reader.h"
#include "graph/group.h"
#include "graph/on_host.h"
#include "graph/onnx.h"

namespace lockstep {
namespace {

constexpr const char* kReplica = "__replica";
constexpr const char* kReplicas = "__replicas";
constexpr const char* kOnHost = "__on_host";

// Returns the replica of an operand or result of a collective. For other nodes, returns the node's
// replica.
int replica_at(const Node& node, std::span<const Value> values, Value value) {
  if (node.replica() != kEveryReplica) return node.replica();
  const std::vector<int64_t> replicas = node.attributes().integers(kReplicas);
  if (replicas.empty()) return kEveryReplica;
  const std::size_t position = std::find(values.begin(), values.end(), value) - values.begin();
  check(position < replicas.size(), node, ": '", node.graph().name(value),
        "' is on none of its replicas");
  return static_cast<int>(replicas[position]);
}

}  // namespace

void write_replica(onnx::NodeProto& proto, int replica) {
  to_proto(kReplica, int64_t{replica}, *proto.add_attribute());
}

int read_replica(const onnx::NodeProto& proto) {
  for (const auto& attribute : proto.attribute())
    if (attribute.name() == kReplica) return static_cast<int>(attribute.i());
  return kEveryReplica;
}

void forget_replica(onnx::NodeProto& proto) {
  auto& attributes = *proto.mutable_attribute();
  for (int i = attributes.size() - 1; i >= 0; --i)
    if (attributes[i].name() == kReplica) attributes.DeleteSubrange(i, 1);
}

bool is_replica(const onnx::AttributeProto& attribute) { return attribute.name() == kReplica; }

bool is_placement(const onnx::AttributeProto& attribute) {
  const std::string& name = attribute.name();
  return name == kReplica || name == kReplicas || name == kOnHost;
}

std::pair<std::string, AttributeValue> replicas_attribute(const std::vector<int64_t>& replicas) {
  return {kReplicas, replicas};
}

std::vector<int> group_of(const Node& node) {
  const std::vector<int64_t> replicas = node.attributes().integers(kReplicas);
  check(replicas.size() == node.outputs().size(), node, ": has ", node.outputs().size(),
        " results, but names ", replicas.size(), " replicas");
  return {replicas.begin(), replicas.end()};
}

std::pair<std::string, AttributeValue> on_host_attribute() { return {kOnHost, int64_t{1}}; }

bool asks_for_host(const Node& node) { return node.attributes().integer(kOnHost, 0) != 0; }

int home_of(const Graph& graph, Value value, const Owners& owners) {
  if (auto producer = graph.producer(value))
    return replica_at(*producer, producer->outputs(), value);
  if (auto owner = owners.find(graph.name(value)); owner != owners.end()) return owner->second;
  int home = kEveryReplica;
  for (int user : graph.consumers(value)) {
    const Node node = graph.node(user);
    const int of_user = replica_at(node, node.inputs(), value);
    if (of_user == kEveryReplica) continue;
    if (home != kEveryReplica && home != of_user) return kEveryReplica;
    home = of_user;
  }
  return home;
}

int replica_of(const Graph& graph, Value value, const Owners& owners) {
  return std::max(home_of(graph, value, owners), 0);
}

}  // namespace lockstep
