// SPDX-License-Identifier: Apache-2.0
#include "builders/step/partition_graph.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "graph/group.h"
#include "graph/passes/copy.h"
#include "graph/passes/postpone.h"
#include "graph/placement.h"
#include "operators/collective/collective.h"
#include "operators/process/process.h"

namespace lockstep {
namespace {

class Cutter {
 public:
  Cutter(const Graph& whole, const Shares& shares, const Owners& owners, int64_t first_message)
      : whole_(whole),
        shares_(shares),
        owners_(owners),
        next_message_(first_message),
        copy_(whole, [this](Value input) { return mine(home_of(input)); }),
        part_(copy_.to()) {}

  Graph run() {
    find_crossings();
    for (int index = 0; index < whole_.node_count(); ++index) take_node(index);
    Graph part = copy_.finish();
    postpone_what_follows(part, [](const Node& node) { return node.op()->exchange; });
    return part;
  }

 private:
  struct Crossing {
    Value value;
    int from, to;
    Message message;       // the peer is the other process, for sender and receiver
    std::string received;  // the value's name on the receiver
    bool is_copy = false;  // the message replaces a Copy node
    Value token = none;    // token of a pending message
  };

  Value at(Value value) const { return copy_.of(value); }
  int process_of(int replica) const { return shares_.process_of(replica); }
  bool mine(int process) const { return process == kEveryProcess || process == shares_.rank(); }

  int home_of(Value value) const {
    if (auto maker = whole_.producer(value)) {
      if (!maker->op()->collective) return process_of(maker->replica());
      const auto outputs = maker->outputs();
      const auto at = std::find(outputs.begin(), outputs.end(), value) - outputs.begin();
      return process_of(group_of(*maker)[at]);
    }
    auto owner = owners_.find(whole_.name(value));
    return owner == owners_.end() ? kEveryProcess : process_of(owner->second);
  }

  // The processes that read the node's inputs.
  std::vector<int> readers_of(const Node& node) const {
    if (!node.op()->collective) return {process_of(node.replica())};
    std::vector<int> readers;
    for (int replica : group_of(node)) readers.push_back(process_of(replica));
    return readers;
  }

  // Finds all crossings in the order of the whole graph, so that all processes give a crossing the
  // same number.
  void find_crossings() {
    crossings_at_.resize(whole_.node_count());
    std::set<std::pair<int, int>> seen;  // value, process
    for (int index = 0; index < whole_.node_count(); ++index) {
      const Node node = whole_.node(index);
      if (node.op()->collective && !node.op()->takes_first) {
        check_group(node);
        collective_message_[index] = next_message_++;
        continue;
      }
      const std::vector<int> users = readers_of(node);
      const bool is_copy = node.op()->copies;
      for (Value input : node.inputs())
        for (int user : users) {
          const int home = input ? home_of(input) : user;
          if (home == user || home == kEveryProcess) continue;
          check(user != kEveryProcess, node.description(), " is on every process, but '",
                whole_.name(input), "' only on process ", home);
          if (!is_copy && !seen.insert({input.id, user}).second) continue;
          const std::string& name = whole_.name(input);
          crossings_at_[index].push_back(crossings_.size());
          crossings_of_[input.id].push_back(crossings_.size());
          crossings_.push_back({input,
                                home,
                                user,
                                {shares_.rank() == home ? user : home, next_message_++, name},
                                is_copy ? whole_.name(node.outputs()[0]) : join(name, "@", user),
                                is_copy,
                                none});
        }
    }
  }

  void take_node(int index) {
    const Node node = whole_.node(index);
    bool received_it = false;  // the node is a Copy, and a message replaced the node
    for (std::size_t number : crossings_at_[index])
      received_it = cross(crossings_[number], node) || received_it;
    if (received_it) return;
    const OriginScope origin(part_, node.where());
    if (node.op()->collective)
      take_collective(node);
    else if (mine(process_of(node.replica())))
      take_ordinary(node);
    // Sends of values for other processes start as early as possible.
    for (Value output : node.outputs())
      if (output && at(output)) start_sending(output);
  }

  void start_sending(Value value) {
    auto crossings = crossings_of_.find(value.id);
    if (crossings == crossings_of_.end()) return;
    for (std::size_t number : crossings->second) {
      Crossing& crossing = crossings_[number];
      if (crossing.from == shares_.rank() && !crossing.token)
        crossing.token = send(part_, at(value), crossing.message);
    }
  }

  // Returns true if the message replaces `node`.
  bool cross(Crossing& crossing, const Node& node) {
    ReplicaScope replica(part_, 0);
    const OriginScope origin(part_, whole_.origin(crossing.value));
    if (crossing.from == shares_.rank()) {
      start_sending(crossing.value);  // an input, which no node computes
      sent(part_, crossing.token, at(crossing.value), crossing.message);
    }
    if (crossing.to != shares_.rank()) return false;
    if (!crossing.is_copy) {
      copy_.set(crossing.value,
                recv(part_, whole_.type(crossing.value), crossing.message, crossing.received));
      return false;
    }
    part_.set_replica(shares_.own_number(node.replica()));
    const std::string like = node.attributes().text(kShapedLike, "");
    copy_.set(node.outputs()[0],
              recv(part_, whole_.type(crossing.value), crossing.message, crossing.received,
                   like.empty() ? none : at(whole_.at(like))));
    return true;
  }

  void take_ordinary(const Node& node) {
    ReplicaScope scope(part_, shares_.own_number(node.replica()));
    std::vector<Value> inputs;
    for (Value input : node.inputs()) inputs.push_back(input ? at(input) : none);
    const Node copied = part_.copy(node, inputs);
    for (std::size_t i = 0; i < node.outputs().size(); ++i)
      if (node.outputs()[i]) copy_.set(node.outputs()[i], copied.outputs()[i]);
  }

  bool is_of_all(const Node& node) const {
    return static_cast<int>(node.outputs().size()) == shares_.replicas();
  }
  // Throws if a group is smaller than all replicas and spans several processes.
  void check_group(const Node& node) const {
    const std::vector<int> group = group_of(node);
    const bool apart = std::any_of(group.begin(), group.end(), [&](int replica) {
      return process_of(replica) != process_of(group[0]);
    });
    check(is_of_all(node) || !apart, node.description(), ": its group of ", group.size(), " of ",
          shares_.replicas(), " replicas is on several of ", shares_.processes(),
          " processes; build the step for that number of processes");
  }

  // This process's part of a collective.
  struct OwnPart {
    std::vector<int> replicas;  // in this process's numbers
    std::vector<Value> inputs, outputs;
    std::vector<std::string> names;  // names of outputs
  };
  OwnPart own_part(const Node& node) const {
    OwnPart own;
    const std::vector<int> group = group_of(node);
    for (std::size_t k = 0; k < group.size(); ++k) {
      if (!mine(process_of(group[k]))) continue;
      own.replicas.push_back(shares_.own_number(group[k]));
      if (!node.op()->takes_first) own.inputs.push_back(at(node.inputs()[k]));
      own.outputs.push_back(node.outputs()[k]);
      own.names.push_back(whole_.name(node.outputs()[k]));
    }
    return own;
  }

  void take_collective(const Node& node) {
    const OwnPart own = own_part(node);
    if (own.outputs.empty()) return;
    if (node.type() == "Broadcast") return take_broadcast(node, own);
    if (!is_of_all(node)) return take_group(node, own);
    if (node.type() == "AllReduce") return take_all_reduce(node, own);
    take_all_gather(node, own);
  }

  void set_all(const OwnPart& own, const std::vector<Value>& results) {
    for (std::size_t k = 0; k < results.size(); ++k) copy_.set(own.outputs[k], results[k]);
  }

  // Copies a collective of a group of this process's replicas.
  void take_group(const Node& node, const OwnPart& own) {
    check(node.type() == "AllReduce", node.description(), ": cannot join a group of replicas");
    set_all(own, all_reduce(part_, own.inputs, read_all_reduce(node.attributes()), own.names,
                            node.name(), own.replicas));
  }

  // Combines values within the process, then across processes, then sends the result to all
  // replicas of this process.
  template <class Within, class Across>
  void take_in_levels(const OwnPart& own, const Within& within, const Across& across) {
    if (own.inputs.size() == 1) {
      ReplicaScope replica(part_, 0);
      copy_.set(own.outputs[0], across(own.inputs[0], own.names[0]));
      return;
    }
    std::vector<std::string> names_within;
    for (const std::string& name : own.names) names_within.push_back(name + "_within");
    const Value here = within(own.inputs, names_within, names_within[0])[0];
    Value all;
    {
      ReplicaScope replica(part_, 0);
      all = across(here, own.names[0] + "_across");
    }
    set_all(own, broadcast(part_, all, own.names, own.names[0] + "_back"));
  }

  void take_all_reduce(const Node& node, const OwnPart& own) {
    const AllReduceAttrs attrs = read_all_reduce(node.attributes());
    const auto replicas = static_cast<int64_t>(node.outputs().size());
    const ProcessAllReduceAttrs across{collective_message_.at(node.index()),
                                       attrs.reduction == Reduction::mean ? replicas : 0,
                                       attrs.wire, attrs.order};
    take_in_levels(
        own,
        [&](const auto& values, const auto& names, const std::string& name) {
          return all_reduce(part_, values, {Reduction::sum, DType::undefined, attrs.order}, names,
                            name);
        },
        [&](Value x, const std::string& name) {
          return process_all_reduce(part_, x, across, name);
        });
  }

  void take_all_gather(const Node& node, const OwnPart& own) {
    ProcessAllGatherAttrs across{collective_message_.at(node.index()),
                                 shares_.rank(),
                                 {},
                                 read_all_gather(node.attributes()).why};
    for (int rank = 0; rank < shares_.processes(); ++rank)
      across.shares.push_back(shares_.count_of(rank));
    take_in_levels(
        own,
        [&](const auto& values, const auto& names, const std::string& name) {
          return all_gather(part_, values, {shares_.count()}, names, name);
        },
        [&](Value x, const std::string& name) {
          return process_all_gather(part_, x, across, name);
        });
  }

  void take_broadcast(const Node& node, const OwnPart& own) {
    set_all(own, broadcast(part_, at(node.inputs()[0]), own.names, node.name(),
                           read_broadcast(node.attributes()), own.replicas));
  }

  const Graph& whole_;
  const Shares& shares_;
  const Owners& owners_;
  int64_t next_message_;
  GraphCopy copy_;  // without values of other processes
  Graph& part_;
  std::vector<Crossing> crossings_;
  std::vector<std::vector<std::size_t>> crossings_at_;    // by node that uses the value
  std::map<int, std::vector<std::size_t>> crossings_of_;  // by value
  std::map<int, int64_t> collective_message_;             // by node
};

}  // namespace

Graph cut_graph(const Graph& whole, const Shares& shares, const Owners& owners,
                int64_t first_message) {
  return Cutter(whole, shares, owners, first_message).run();
}

}  // namespace lockstep
