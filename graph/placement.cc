#include "graph/placement.h"

#include "graph/onnx.h"

namespace lockstep {
namespace {

constexpr const char* kReplica = "__replica";
constexpr const char* kReplicas = "__replicas";

int replica_of_output(const Node& node, Value value) {
  if (node.replica() != kEveryReplica) return node.replica();
  auto replicas = node.attributes().integers(kReplicas);
  for (std::size_t i = 0; i < replicas.size() && i < node.outputs().size(); ++i)
    if (node.outputs()[i] == value) return static_cast<int>(replicas[i]);
  return 0;
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

std::pair<std::string, AttributeValue> replicas_attribute(const std::vector<int64_t>& replicas) {
  return {kReplicas, replicas};
}

int replica_of(const Graph& graph, Value value) {
  if (auto producer = graph.producer(value)) return replica_of_output(*producer, value);
  int replica = kEveryReplica;
  for (int user : graph.consumers(value)) {
    int of_user = graph.node(user).replica();
    if (of_user == kEveryReplica) continue;
    if (replica != kEveryReplica && replica != of_user) return 0;
    replica = of_user;
  }
  return std::max(replica, 0);
}

}  // namespace lockstep
