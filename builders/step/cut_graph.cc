#include "builders/step/cut_graph.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "graph/passes/copy.h"
#include "graph/passes/postpone.h"
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
    Message message;       // its peer is the other process, on either side
    std::string received;  // the value's name on the receiver
    bool is_copy = false;  // stands for the Copy node itself
    Value token = none;    // of a pending message
  };

  Value at(Value value) const { return copy_.of(value); }
  int process_of(int replica) const { return shares_.process_of(replica); }
  bool mine(int process) const { return process == kEveryProcess || process == shares_.rank(); }

  int home_of(Value value) const {
    if (auto maker = whole_.producer(value)) {
      if (!maker->op()->collective) return process_of(maker->replica());
      const auto outputs = maker->outputs();
      return process_of(
          static_cast<int>(std::find(outputs.begin(), outputs.end(), value) - outputs.begin()));
    }
    auto owner = owners_.find(whole_.name(value));
    return owner == owners_.end() ? kEveryProcess : process_of(owner->second);
  }

  // Finds all crossings in the order of the whole graph, so that all processes number them alike.
  void find_crossings() {
    crossings_at_.resize(whole_.node_count());
    std::set<std::pair<int, int>> seen;  // value, process
    for (int index = 0; index < whole_.node_count(); ++index) {
      const Node node = whole_.node(index);
      if (node.op()->collective && !node.op()->takes_first) {
        collective_message_[index] = next_message_++;
        continue;
      }
      std::vector<int> users;
      if (node.op()->collective)
        for (std::size_t k = 0; k < node.outputs().size(); ++k)
          users.push_back(process_of(static_cast<int>(k)));
      else
        users.push_back(process_of(node.replica()));
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
    bool received_it = false;  // the node is a Copy, and the message brought its value
    for (std::size_t number : crossings_at_[index])
      received_it = cross(crossings_[number], node) || received_it;
    if (received_it) return;
    const OriginScope origin(part_, node.where());
    if (node.op()->collective)
      take_collective(node);
    else if (mine(process_of(node.replica())))
      take_ordinary(node);
    // Values for others are sent at once.
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

  // True if this process received what `node` would have made.
  bool cross(Crossing& crossing, const Node& node) {
    ReplicaScope replica(part_, 0);
    const OriginScope origin(part_, whole_.origin(crossing.value));
    if (crossing.from == shares_.rank()) {
      start_sending(crossing.value);  // an input: made by no node
      sent(part_, crossing.token, at(crossing.value), crossing.message);
    }
    if (crossing.to != shares_.rank()) return false;
    if (!crossing.is_copy) {
      copy_.set(crossing.value,
                recv(part_, whole_.type(crossing.value), crossing.message, crossing.received));
      return false;
    }
    part_.set_replica(node.replica() - shares_.first());
    const std::string like = node.attributes().text(kShapedLike, "");
    copy_.set(node.outputs()[0],
              recv(part_, whole_.type(crossing.value), crossing.message, crossing.received,
                   like.empty() ? none : at(whole_.at(like))));
    return true;
  }

  void take_ordinary(const Node& node) {
    const int replica =
        node.replica() == kEveryReplica ? kEveryReplica : node.replica() - shares_.first();
    ReplicaScope scope(part_, replica);
    std::vector<Value> inputs;
    for (Value input : node.inputs()) inputs.push_back(input ? at(input) : none);
    const Node copied = part_.copy(node, inputs);
    for (std::size_t i = 0; i < node.outputs().size(); ++i)
      if (node.outputs()[i]) copy_.set(node.outputs()[i], copied.outputs()[i]);
  }

  // This process's part of a collective's per-replica values.
  template <class List>
  std::vector<Value> own_of(const List& values) const {
    const auto first = values.begin() + shares_.first();
    return {first, first + shares_.count()};
  }
  std::vector<std::string> names_of(const std::vector<Value>& values) const {
    std::vector<std::string> names;
    for (Value value : values) names.push_back(whole_.name(value));
    return names;
  }

  void take_collective(const Node& node) {
    if (node.type() == "AllReduce") return take_all_reduce(node);
    if (node.type() == "AllGather") return take_all_gather(node);
    take_broadcast(node);
  }

  // Within the process, across processes, back to all replicas of this one.
  template <class Within, class Across>
  void take_in_levels(const Node& node, const Within& within, const Across& across) {
    const std::vector<Value> outputs = own_of(node.outputs());
    const std::vector<std::string> names = names_of(outputs);
    std::vector<Value> own;
    for (Value input : own_of(node.inputs())) own.push_back(at(input));
    if (own.size() == 1) {
      ReplicaScope replica(part_, 0);
      copy_.set(outputs[0], across(own[0], names[0]));
      return;
    }
    std::vector<std::string> names_within;
    for (const std::string& name : names) names_within.push_back(name + "_within");
    const Value here = within(own, names_within, names_within[0])[0];
    Value all;
    {
      ReplicaScope replica(part_, 0);
      all = across(here, names[0] + "_across");
    }
    const std::vector<Value> results = broadcast(part_, all, names, names[0] + "_back");
    for (std::size_t k = 0; k < results.size(); ++k) copy_.set(outputs[k], results[k]);
  }

  void take_all_reduce(const Node& node) {
    const AllReduceAttrs attrs = read_all_reduce(node.attributes());
    const auto replicas = static_cast<int64_t>(node.outputs().size());
    const ProcessAllReduceAttrs across{collective_message_.at(node.index()),
                                       attrs.reduction == Reduction::mean ? replicas : 0,
                                       attrs.wire, attrs.order};
    take_in_levels(
        node,
        [&](const auto& own, const auto& names, const std::string& name) {
          return all_reduce(part_, own, {Reduction::sum, DType::undefined, attrs.order}, names,
                            name);
        },
        [&](Value x, const std::string& name) {
          return process_all_reduce(part_, x, across, name);
        });
  }

  void take_all_gather(const Node& node) {
    ProcessAllGatherAttrs across{collective_message_.at(node.index()),
                                 shares_.rank(),
                                 {},
                                 read_all_gather(node.attributes()).why};
    for (int rank = 0; rank < shares_.processes(); ++rank)
      across.shares.push_back(shares_.count_of(rank));
    take_in_levels(
        node,
        [&](const auto& own, const auto& names, const std::string& name) {
          return all_gather(part_, own, {shares_.count()}, names, name);
        },
        [&](Value x, const std::string& name) {
          return process_all_gather(part_, x, across, name);
        });
  }

  void take_broadcast(const Node& node) {
    const std::vector<Value> outputs = own_of(node.outputs());
    const std::vector<Value> results =
        broadcast(part_, at(node.inputs()[0]), names_of(outputs), node.name());
    for (std::size_t k = 0; k < results.size(); ++k) copy_.set(outputs[k], results[k]);
  }

  const Graph& whole_;
  const Shares& shares_;
  const Owners& owners_;
  int64_t next_message_;
  GraphCopy copy_;  // has no values of other processes
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
