// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/built_rounds.h"

#include <algorithm>
#include <map>
#include <set>

#include "builders/all_reduce/algorithm.h"
#include "builders/all_reduce/expand.h"
#include "graph/group.h"
#include "graph/passes/replicate.h"
#include "lockstep/error.h"
#include "lockstep/operators.h"
#include "operators/collective/collective.h"

namespace lockstep {
namespace {

// A model that only sums one state over all replicas.
TrainingModel sum_of_one_state(const AllReduceCase& which, const Cluster& cluster, int64_t elements,
                               DType wire) {
  const AllReduceAlgorithm& algorithm = algorithm_named(which.range.algorithm);
  TrainingModel one(all_ops());
  one.states.push_back({{"x", {"x"}}, StateKind::computed});
  const Value x = one.step.input("x", {DType::float32, {elements}});
  const Value gradient = identity(one.step, x, "x_grad");
  Value sum;
  if (algorithm.is_one_node())
    sum = all_reduce(one.step, {gradient}, {Reduction::sum, wire, algorithm.order}, {"x_sum"},
                     "x_sum")[0];
  else
    sum = mark_for_expansion(one.step, gradient, {which.range, wire, which.turn}, "x_sum");
  // Expanding the sum gives its results other names, so the update is a node that reads them.
  one.updates.push_back({"x", one.step.name(identity(one.step, sum, "x_new"))});
  TrainingModel all = replicate(one, cluster.all_devices(), "cpu");
  all.step = expand(std::move(all.step),
                    {.processes = cluster.all_processes(), .ring_order = which.ring_order});
  return all;
}

class RoundReader {
 public:
  RoundReader(const AllReduceCase& which, const Cluster& cluster, int64_t elements, DType wire)
      : cluster_(cluster),
        wire_(wire),
        parts_(algorithm_named(which.range.algorithm).is_one_node()
                   ? shards_of(which.range, cluster.all_processes())
                   : 1),
        model_(sum_of_one_state(which, cluster, elements, wire)),
        graph_(model_.step),
        depth_(graph_.value_count(), 0) {}

  BuiltAllReduce read() {
    std::set<int> wanted;
    for (const Binding& update : model_.updates) wanted.insert(graph_.at(update.value).id);
    for (int i = 0; i < graph_.node_count(); ++i)
      for (const Value input : graph_.node(i).inputs())
        if (input) wanted.insert(input.id);
    wanted_ = std::move(wanted);
    for (int i = 0; i < graph_.node_count(); ++i) take(graph_.node(i));
    std::erase_if(built_.rounds, [](const BuiltRound& round) {
      return round.messages.empty() &&
             std::ranges::all_of(round.added, [](double bytes) { return bytes == 0; });
    });
    return std::move(built_);
  }

 private:
  double bytes_of_value(Value value) const {
    return static_cast<double>(element_count(to_dims(graph_.shape(value)))) *
           static_cast<double>(size_of(graph_.dtype(value)));
  }
  double narrowed(double bytes) const {
    return wire_ == DType::undefined ? bytes : bytes * static_cast<double>(size_of(wire_)) / 4;
  }

  BuiltRound& round(int depth) {
    if (static_cast<int>(built_.rounds.size()) <= depth) built_.rounds.resize(depth + 1);
    BuiltRound& found = built_.rounds[depth];
    found.added.resize(cluster_.all_devices(), 0);
    return found;
  }
  void send(int depth, int from, int to, double bytes) {
    if (from != to) round(depth).messages.push_back({from, to, cluster_.between(from, to), bytes});
  }
  void add(int depth, int device, double bytes) { round(depth).added[device] += bytes; }

  void take(const Node& node) {
    if (node.type() == "AllReduce") return take_sum(node);
    if (node.type() == "Broadcast") return take_broadcast(node);
    int depth = 0;
    for (const Value input : node.inputs())
      if (input) depth = std::max(depth, depth_[input.id]);
    if (node.type() == "Copy") {
      const Value value = node.inputs()[0];
      send(++depth, home(value), node.replica(), bytes_of_value(value));
      built_.operand_bytes += bytes_of_value(value);
      ++built_.operands;
    } else if (node.type() == "Add" || node.type() == "Sum") {
      const auto terms = static_cast<double>(node.inputs().size());
      add(depth, node.replica(), (terms - 1) * bytes_of_value(node.outputs()[0]));
    }
    for (const Value output : node.outputs())
      if (output) {
        depth_[output.id] = depth;
        home_[output.id] = node.replica();
      }
  }

  int home(Value value) const {
    const auto found = home_.find(value.id);
    if (found != home_.end()) return found->second;
    const auto maker = graph_.producer(value);
    return maker ? std::max(maker->replica(), 0) : 0;
  }

  void take_broadcast(const Node& node) {
    const std::vector<int> group = group_of(node);
    const Value value = node.inputs()[0];
    const int depth = depth_[value.id] + (group.size() > 1 ? 1 : 0);
    for (const int device : group) send(depth, group[0], device, bytes_of_value(value));
    set_outputs(node, group, depth);
  }

  // Replicas of a process sum in shared memory; the first replicas of processes exchange pieces.
  void take_sum(const Node& node) {
    const std::vector<int> group = group_of(node);
    const double bytes = bytes_of_value(node.inputs()[0]);
    built_.operand_bytes += bytes * static_cast<double>(group.size());
    built_.operands += static_cast<double>(group.size());
    int depth = 0;
    for (const Value input : node.inputs()) depth = std::max(depth, depth_[input.id]);
    for (int64_t part = 0; part < parts_; ++part)
      depth = sum_part(node, group, depth, bytes / static_cast<double>(parts_));
    set_outputs(node, group, depth);
  }

  int sum_part(const Node& node, const std::vector<int>& group, int depth, double bytes) {
    std::map<int, std::vector<int>> processes;
    for (const int device : group) processes[cluster_.process_of(device)].push_back(device);
    std::vector<int> firsts;
    for (const auto& [process, members] : processes) firsts.push_back(members[0]);
    if (processes.size() == 1) {
      if (wanted_outputs(node) > 1) return exchange(depth, group, bytes);
      return gather(depth, processes, bytes);  // only the first replica needs the sum
    }
    if (firsts.size() < group.size()) depth = gather(depth, processes, bytes);
    depth = exchange(depth, firsts, narrowed(bytes), bytes);
    if (firsts.size() == group.size()) return depth;
    ++depth;
    for (const auto& [process, members] : processes)
      for (const int device : members) send(depth, members[0], device, bytes);
    return depth;
  }

  int gather(int depth, const std::map<int, std::vector<int>>& processes, double bytes) {
    ++depth;
    for (const auto& [process, members] : processes) {
      for (const int device : members) send(depth, device, members[0], bytes);
      add(depth, members[0], static_cast<double>(members.size() - 1) * bytes);
    }
    return depth;
  }

  int exchange(int depth, const std::vector<int>& members, double sent, double added = 0) {
    const auto count = static_cast<double>(members.size());
    if (added == 0) added = sent;
    for (const bool adds : {true, false}) {
      ++depth;
      for (const int to : members) {
        for (const int from : members) send(depth, from, to, sent / count);
        if (adds) add(depth, to, (count - 1) / count * added);
      }
    }
    return depth;
  }

  int wanted_outputs(const Node& node) const {
    return static_cast<int>(std::ranges::count_if(
        node.outputs(), [&](Value output) { return output && wanted_.contains(output.id); }));
  }
  void set_outputs(const Node& node, const std::vector<int>& group, int depth) {
    for (std::size_t i = 0; i < node.outputs().size(); ++i)
      if (const Value output = node.outputs()[i]) {
        depth_[output.id] = depth;
        home_[output.id] = group[i];
      }
  }

  const Cluster& cluster_;
  const DType wire_;
  const int64_t parts_;  // of a single node, which are summed in turns
  const TrainingModel model_;
  const Graph& graph_;
  std::vector<int> depth_;
  std::map<int, int> home_;
  std::set<int> wanted_;
  BuiltAllReduce built_;
};

}  // namespace

BuiltAllReduce built_all_reduce(const AllReduceCase& which, const Cluster& cluster,
                                int64_t elements, DType wire) {
  return RoundReader(which, cluster, elements, wire).read();
}

}  // namespace lockstep
