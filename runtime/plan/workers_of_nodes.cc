// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/workers_of_nodes.h"

#include <optional>

namespace lockstep {
namespace {

// Marks messages to other processes and the all-reduce work between two messages. Otherwise a
// replica would stop for every message.
std::vector<bool> find_exchanges(const Graph& bound) {
  const int count = bound.node_count();
  std::vector<bool> after(count, false), before(count, false), chosen(count, false);
  for (int index = 0; index < count; ++index) {
    const Node node = bound.node(index);
    chosen[index] = node.op()->exchange;
    if (!node.op()->transit) continue;
    for (Value input : node.inputs())
      if (auto made = input ? bound.producer(input) : std::nullopt)
        if (made->op()->exchange || after[made->index()]) after[index] = true;
  }
  for (int index = count - 1; index >= 0; --index) {
    if (!after[index]) continue;
    for (Value output : bound.node(index).outputs()) {
      if (!output) continue;
      for (int user : bound.consumers(output))
        if (bound.node(user).op()->exchange || (before[user] && after[user])) before[index] = true;
    }
    if (before[index]) chosen[index] = true;
  }
  return chosen;
}

}  // namespace

bool communication_has_queues(const std::vector<Device>& devices) {
  return devices[0].info().has_queues;
}

WorkersOfNodes::WorkersOfNodes(const Graph& bound, const std::vector<Device>& devices)
    : communicates_(find_exchanges(bound)) {
  const bool queues = communication_has_queues(devices);
  bool any = false;
  for (int index = 0; index < bound.node_count(); ++index) {
    if (queues && bound.node(index).op()->collective) communicates_[index] = true;
    any = any || communicates_[index];
  }
  for (Device device : devices) workers_.push_back({device, Worker::Role::computes});
  exchanger_ = static_cast<int>(workers_.size());
  for (std::size_t replica = 0; replica < devices.size(); ++replica) {
    if (any && (queues || replica == 0))
      workers_.push_back({devices[replica], Worker::Role::communicates});
    communicator_.push_back(static_cast<int>(workers_.size()) - 1);
  }
}

int WorkersOfNodes::of(const Node& node, int replica) const {
  if (!communicates_[node.index()]) return replica;
  return node.op()->exchange ? exchanger_ : communicator_[replica];
}

}  // namespace lockstep
