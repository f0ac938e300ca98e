// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/share.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "graph/passes/copy.h"
#include "graph/passes/equal_values.h"
#include "graph/placement.h"
#include "graph/tensor_bytes.h"

namespace lockstep {
namespace {

// A state on one replica.
struct Member {
  std::string name;
  Value held;  // none: no node reads the state
  Value made;  // its new value, or the source of that copy; none: keeps the old value
};
struct Group {
  std::size_t index;  // in InCommon::states
  std::vector<Member> members;

  const Member& first() const { return members.front(); }
};

class SharePass {
 public:
  SharePass(const Graph& graph, const InCommon& common, const std::vector<Binding>& updates,
            const std::vector<std::string>& fetched)
      : graph_(graph),
        updates_(updates),
        fetched_(graph.value_count(), false),
        stands_for_(graph.value_count()) {
    for (int id = 0; id < graph.value_count(); ++id) stands_for_[id] = {id};
    for (const std::string& name : fetched) fetched_[graph.at(name).id] = true;
    std::map<std::string, std::string> made;
    for (const Binding& update : updates) made[update.state] = update.value;
    for (const auto& names : common.feeds)
      if (auto feeds = values_of(names); have_one_type(feeds)) feeds_.push_back(std::move(feeds));
    for (std::size_t i = 0; i < common.states.size(); ++i) {
      Group group{i, {}};
      for (const std::string& name : common.states[i]) {
        const auto value = made.find(name);
        group.members.push_back({name, graph.find(name),
                                 value == made.end() ? none : uncopied(graph.at(value->second))});
      }
      groups_.push_back(std::move(group));
    }
    choose_groups();
    note_kept();
  }

  bool shares() const { return !groups_.empty(); }

  Shared run() {
    merge_states();
    merge_updates();
    merge_what_states_make();
    const std::vector<Binding> updates = remaining_updates();
    Shared shared{write(updates), updates, {}, ""};
    for (const Group& group : groups_) shared.states.push_back(group.index);
    const bool updates_some =
        std::ranges::any_of(groups_, [](const Group& group) { return bool(group.first().made); });
    shared.note =
        join(groups_.size(), " states of ", groups_.front().members.size(),
             " replicas: one for all", updates_some ? ", of which each updates a part" : "");
    return shared;
  }

 private:
  // Follows copies to the value that a node made. A copy of an input or constant is returned
  // unchanged: it keeps the old value.
  Value uncopied(Value value) const {
    for (auto maker = graph_.producer(value); maker && maker->op()->copies;) {
      const Value copied = maker->inputs()[0];
      maker = graph_.producer(copied);
      if (maker) value = copied;
    }
    return value;
  }
  std::vector<Value> values_of(const std::vector<std::string>& names) const {
    std::vector<Value> values;
    for (const std::string& name : names)
      if (const Value value = graph_.find(name)) values.push_back(value);
    return values;
  }
  bool have_one_type(const std::vector<Value>& values) const {
    return std::ranges::all_of(
        values, [&](Value value) { return graph_.type(value) == graph_.type(values[0]); });
  }

  // Starts with all groups and drops groups that the step does not keep equal, until all remaining
  // groups stay equal.
  void choose_groups() {
    std::erase_if(groups_, [&](const Group& group) { return !may_share(group); });
    do number();
    while (std::erase_if(groups_, [&](const Group& group) { return !stays_equal(group); }) > 0);
  }

  void note_kept() {
    std::set<std::string> shared;
    for (const Group& group : groups_)
      for (const Member& member : group.members) shared.insert(member.name);
    kept_ = fetched_;
    for (const Binding& update : updates_)
      if (!shared.contains(update.state)) kept_[graph_.at(update.value).id] = true;
  }

  void number() {
    std::vector<std::vector<Value>> alike = feeds_;
    for (const Group& group : groups_) {
      alike.emplace_back();
      for (const Member& member : group.members)
        if (member.held) alike.back().push_back(member.held);
    }
    numbers_ = equal_values(graph_, alike);
  }
  int number_of(Value value) const { return numbers_[value.id]; }

  bool may_share(const Group& group) const {
    const Member& first = group.first();
    if (!first.held && !first.made) return false;
    for (const Member& member : group.members) {
      if ((member.held && !first.held) || bool(member.made) != bool(first.made)) return false;
      if (member.held && (!is_input(member.held) || fetched_[member.held.id] ||
                          graph_.type(member.held) != graph_.type(first.held)))
        return false;
      if (member.made && is_seen(member.made)) return false;
    }
    return true;
  }
  bool is_input(Value value) const { return !graph_.producer(value) && !graph_.literal(value); }
  // True if a run returns the value or another result of its node. The node must stay then.
  bool is_seen(Value value) const {
    const auto maker = graph_.producer(value);
    if (!maker) return fetched_[value.id];
    return std::ranges::any_of(maker->outputs(),
                               [&](Value made) { return made && fetched_[made.id]; });
  }
  bool stays_equal(const Group& group) const {
    return std::ranges::all_of(group.members, [&](const Member& member) {
      return !member.made || number_of(member.made) == number_of(group.first().made);
    });
  }

  void merge_states() {
    for (const Group& group : groups_)
      for (const Member& member : group.members)
        if (member.held) stands_for_[member.held.id] = group.first().held;
  }

  // Keeps one of the nodes that make the same new states. Deals out the largest first, each to the
  // replica with the fewest bytes. If the step reads a new value, the first node stays, since all
  // readers come after it.
  void merge_updates() {
    std::map<std::vector<int>, std::size_t> bytes_by_nodes;
    for (const Group& group : groups_) {
      if (!group.first().made) continue;
      std::set<int> makers;
      for (const Member& member : group.members)
        if (const auto maker = graph_.producer(member.made)) makers.insert(maker->index());
      if (!makers.empty())
        bytes_by_nodes[{makers.begin(), makers.end()}] += bytes_of(graph_.type(group.first().made));
    }
    std::vector<std::pair<std::vector<int>, std::size_t>> all(bytes_by_nodes.begin(),
                                                              bytes_by_nodes.end());
    std::ranges::stable_sort(all, std::greater(), [](const auto& one) { return one.second; });
    std::map<int, std::size_t> load;  // by replica
    for (const auto& [nodes, bytes] : all) {
      const bool read = any_is_read(nodes);
      int stays = nodes.front();
      if (!read)
        for (int node : nodes)
          if (load[replica_of(node)] < load[replica_of(stays)]) stays = node;
      load[replica_of(stays)] += bytes;
      for (int node : nodes) merge(node, stays);
      dealt_out_.insert(nodes.begin(), nodes.end());
      if (!read) comes_last_.insert(stays);
    }
  }
  int replica_of(int node) const { return graph_.node(node).replica(); }
  bool any_is_read(const std::vector<int>& nodes) const {
    return std::ranges::any_of(nodes, [&](int node) {
      return std::ranges::any_of(graph_.node(node).outputs(),
                                 [&](Value made) { return made && is_read(made); });
    });
  }
  // True if a node reads the value. A copy that served only a state that is now shared does not
  // count.
  bool is_read(Value value) const {
    return std::ranges::any_of(graph_.consumers(value), [&](int reader) {
      const Node node = graph_.node(reader);
      if (!node.op()->copies) return true;
      const Value copy = node.outputs()[0];
      return kept_[copy.id] || is_read(copy);
    });
  }
  void merge(int node, int with) {
    const auto gone = graph_.node(node).outputs(), stay = graph_.node(with).outputs();
    for (std::size_t i = 0; i < gone.size(); ++i)
      if (gone[i] && stay[i]) stands_for_[gone[i].id] = stay[i];
  }

  // Merges equal nodes that read only shared states and constants, such as casts of parameters. The
  // first node stays.
  void merge_what_states_make() {
    std::vector<bool> of_states(graph_.value_count(), false);
    for (const Group& group : groups_)
      for (const Member& member : group.members)
        if (member.held) of_states[member.held.id] = true;
    std::map<int, int> first;  // node, by the number of its first result
    for (int i = 0; i < graph_.node_count(); ++i) {
      const Node node = graph_.node(i);
      const auto is_given = [&](Value x) { return !x || graph_.literal(x) || of_states[x.id]; };
      if (node.op()->random || node.op()->exchange || node.op()->collective || !node.outputs()[0] ||
          !std::ranges::all_of(node.inputs(), is_given) ||
          std::ranges::none_of(node.inputs(), [&](Value x) { return x && of_states[x.id]; }))
        continue;
      for (Value made : node.outputs())
        if (made) of_states[made.id] = true;
      // If merged again, two updates could stand for each other, and behind() would not end. A copy
      // of an update's result may not replace other nodes: the copy may go away, and the update may
      // come last.
      if (dealt_out_.contains(i) || node.op()->copies) continue;
      const int stays = first.emplace(number_of(node.outputs()[0]), i).first->second;
      if (stays != i && !is_seen(node.outputs()[0])) merge(i, stays);
    }
  }

  // Follows replacements to the final value: a replacement may be replaced, too.
  Value behind(Value value) const {
    while (value && stands_for_[value.id] != value) value = stands_for_[value.id];
    return value;
  }

  // Binds the first state of each group to the new value that stays; drops the updates of the
  // others.
  std::vector<Binding> remaining_updates() const {
    std::map<std::string, Value> taken;
    for (const Group& group : groups_)
      for (const Member& member : group.members)
        taken[member.name] = &member == &group.first() ? behind(member.made) : none;
    std::vector<Binding> updates;
    for (const Binding& update : updates_)
      if (const auto found = taken.find(update.state); found == taken.end())
        updates.push_back(update);
      else if (found->second)
        updates.push_back({update.state, graph_.name(found->second)});
    return updates;
  }

  Graph write(const std::vector<Binding>& updates) const {
    std::vector<bool> wanted = fetched_;
    for (const Binding& update : updates) wanted[graph_.at(update.value).id] = true;
    const std::vector<bool> stays = needed(wanted);
    GraphCopy copy(graph_, [&](Value input) { return behind(input) == input; });
    for (int index : order())
      if (stays[index]) take(copy, graph_.node(index), wanted);
    for (Value output : graph_.outputs())
      if (const Value made = copy.of(behind(output)); made && wanted[behind(output).id])
        copy.to().output(made);
    return std::move(copy.to());
  }

  // Returns the nodes that stay; adds the values that they read to `wanted`.
  std::vector<bool> needed(std::vector<bool>& wanted) const {
    std::vector<bool> stays(graph_.node_count(), false);
    for (int i = graph_.node_count() - 1; i >= 0; --i) {
      const Node node = graph_.node(i);
      stays[i] = node.op()->exchange || std::ranges::any_of(node.outputs(), [&](Value made) {
                   return made && wanted[made.id];
                 });
      if (!stays[i]) continue;
      for (Value operand : node.inputs())
        if (operand) wanted[behind(operand).id] = true;
    }
    return stays;
  }

  // Orders the nodes. An update overwrites a state that replicas read, so it moves behind the last
  // reader. No node that stays reads its results, so the order stays valid. An update that stays
  // before a reader is still right: its results are copied into the state after all reads
  // (runtime/plan/aliases.h).
  std::vector<int> order() const {
    std::map<int, int> last_reader;  // by the value of a shared state
    for (const Group& group : groups_)
      for (const Member& member : group.members)
        if (member.held)
          for (int reader : graph_.consumers(member.held)) {
            int& last = last_reader.emplace(group.first().held.id, -1).first->second;
            last = std::max(last, reader);
          }
    std::vector<std::pair<int, bool>> place;  // of each node; a moved node comes after the node at
                                              // the same position
    for (int node = 0; node < graph_.node_count(); ++node) place.emplace_back(node, false);
    for (int node : comes_last_)
      for (Value operand : graph_.node(node).inputs())
        if (const auto last = last_reader.find(behind(operand).id); last != last_reader.end())
          if (last->second > place[node].first) place[node] = {last->second, true};
    std::vector<int> order(place.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](int node) { return place[node]; });
    return order;
  }

  // Copies a node. A collective makes no result for replicas that do not need it.
  void take(GraphCopy& copy, const Node& node, const std::vector<bool>& wanted) const {
    ReplicaScope replica(copy.to(), node.replica());
    Graph::Names names{node.name(), {}};
    std::vector<Value> operands;
    for (Value operand : node.inputs()) operands.push_back(copy.of(behind(operand)));
    for (Value made : node.outputs())
      names.outputs.push_back(
          made && (wanted[made.id] || !node.op()->collective) ? graph_.name(made) : "");
    const Node taken = copy.to().take(node, operands, names);
    for (std::size_t i = 0; i < node.outputs().size(); ++i)
      if (taken.outputs()[i]) copy.set(node.outputs()[i], taken.outputs()[i]);
  }

  const Graph& graph_;
  const std::vector<Binding>& updates_;
  std::vector<std::vector<Value>> feeds_;
  std::vector<Group> groups_;      // in the end, the shared groups
  std::vector<bool> fetched_;      // by value
  std::vector<bool> kept_;         // fetched, or the new value of a state that is not shared
  std::vector<int> numbers_;       // by value: equal values have equal numbers
  std::vector<Value> stands_for_;  // by value: the replacement
  std::set<int> dealt_out_;        // makers of new states, after merge_updates()
  std::set<int> comes_last_;       // updates with no readers except copies that go away
};

}  // namespace

InCommon in_common(const TrainingModel& model) {
  InCommon common;
  for (const State& state : model.states)
    if (!differs_by_replica(state.kind) && state.values.size() > 1)
      common.states.push_back(state.values);
  for (const StepInput& input : model.inputs)
    if ((input.role == Role::rate || input.role == Role::correction) && input.values.size() > 1)
      common.feeds.push_back(input.values);
  return common;
}

Shared share_states(Graph bound, const InCommon& common, const std::vector<Binding>& updates,
                    const std::vector<std::string>& fetched) {
  SharePass pass(bound, common, updates, fetched);
  if (pass.shares()) return pass.run();
  return {std::move(bound), updates, {}, ""};
}

}  // namespace lockstep
