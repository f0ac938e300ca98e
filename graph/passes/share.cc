#include "graph/passes/share.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "graph/passes/copy.h"
#include "graph/passes/equal_values.h"

namespace lockstep {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

// A state of all replicas.
struct Member {
  Value held;  // none: nobody reads it
  Value made;  // its new value; none: it keeps the old one
};
using Group = std::vector<Member>;

class Sharing {
 public:
  Sharing(const Graph& graph, const InCommon& common, const std::vector<Binding>& updates,
          const std::vector<std::string>& fetched)
      : graph_(graph),
        common_(common),
        updates_(updates),
        fetched_(at(graph.value_count()), false),
        stands_for_(at(graph.value_count())) {
    for (int id = 0; id < graph.value_count(); ++id) stands_for_[at(id)] = {id};
    for (const std::string& name : fetched) fetched_[at(graph.at(name).id)] = true;
    std::map<std::string, std::string> made;
    for (const Binding& update : updates) made[update.state] = update.value;
    for (const auto& names : common.feeds)
      if (auto feeds = values_of(names); have_one_type(feeds)) feeds_.push_back(std::move(feeds));
    for (const auto& names : common.states) {
      Group group;
      for (const std::string& name : names) {
        const auto value = made.find(name);
        group.push_back({graph.find(name), value == made.end() ? none : graph.at(value->second)});
      }
      groups_.push_back(std::move(group));
    }
  }

  Shared run() {
    choose_groups();
    merge_states();
    merge_updates();
    merge_what_states_make();
    Shared shared{write(), {}, {}, ""};
    for (const Binding& update : updates_)
      if (const auto value = now_made_.find(update.state); value == now_made_.end())
        shared.updates.push_back(update);
      else if (!value->second.empty())
        shared.updates.push_back({update.state, value->second});
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (shared_[g]) shared.states.push_back(g);
    if (!shared.states.empty())
      shared.note = join(shared.states.size(), " states of ", groups_.front().size(),
                         " replicas: one for all, of which each updates a part");
    return shared;
  }

 private:
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

  // The most groups that a step keeps equal if all of them are.
  void choose_groups() {
    shared_.resize(groups_.size());
    for (std::size_t g = 0; g < groups_.size(); ++g) shared_[g] = may_share(groups_[g]);
    for (bool changed = true; changed;) {
      number();
      changed = false;
      for (std::size_t g = 0; g < groups_.size(); ++g)
        if (shared_[g] && !stays_equal(groups_[g])) {
          shared_[g] = false;
          changed = true;
        }
    }
  }

  void number() {
    std::vector<std::vector<Value>> alike = feeds_;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (!shared_[g]) continue;
      alike.emplace_back();
      for (const Member& member : groups_[g])
        if (member.held) alike.back().push_back(member.held);
    }
    numbers_ = equal_values(graph_, alike);
  }
  int number_of(Value value) const { return numbers_[at(value.id)]; }

  bool may_share(const Group& group) const {
    const Member& first = group.front();
    bool any = false;
    for (const Member& member : group) {
      any = any || member.held || member.made;
      if ((member.held && !first.held) || bool(member.made) != bool(first.made)) return false;
      if (member.held && (!is_input(member.held) || fetched_[at(member.held.id)] ||
                          graph_.type(member.held) != graph_.type(first.held)))
        return false;
      if (member.made && is_seen(member.made)) return false;
    }
    return any;
  }
  bool is_input(Value value) const { return !graph_.producer(value) && !graph_.literal(value); }
  // By others than nodes, or together with a value that is: the node that makes it must stay.
  bool is_seen(Value value) const {
    const auto maker = graph_.producer(value);
    if (!maker) return fetched_[at(value.id)];
    return std::ranges::any_of(maker->outputs(),
                               [&](Value made) { return made && fetched_[at(made.id)]; });
  }
  bool stays_equal(const Group& group) const {
    return std::ranges::all_of(group, [&](const Member& member) {
      return !member.made || number_of(member.made) == number_of(group.front().made);
    });
  }

  void merge_states() {
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (shared_[g])
        for (const Member& member : groups_[g])
          if (member.held) stands_for_[at(member.held.id)] = groups_[g].front().held;
  }

  // Nodes that make the same new states, and the bytes of these.
  struct Alike {
    std::vector<int> nodes;  // ascending
    std::size_t bytes = 0;
  };

  // Of nodes that make the same new states one stays. The largest are dealt out first.
  void merge_updates() {
    std::map<std::vector<int>, Alike> by_nodes;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (!shared_[g] || !groups_[g].front().made) continue;
      std::set<int> makers;
      for (const Member& member : groups_[g])
        if (const auto maker = graph_.producer(member.made)) makers.insert(maker->index());
      if (makers.empty()) continue;
      std::vector<int> nodes(makers.begin(), makers.end());
      Alike& alike = by_nodes[nodes];
      alike.nodes = nodes;
      alike.bytes += bytes_of(groups_[g].front().made);
    }
    std::vector<Alike> all;
    for (auto& [nodes, alike] : by_nodes) all.push_back(std::move(alike));
    std::ranges::stable_sort(all, std::greater(), &Alike::bytes);
    std::map<int, std::size_t> load;  // by replica
    for (const Alike& alike : all) {
      int stays = alike.nodes.front();
      if (!any_is_read(alike))
        for (int node : alike.nodes)
          if (load[replica_of(node)] < load[replica_of(stays)]) stays = node;
      load[replica_of(stays)] += alike.bytes;
      for (int node : alike.nodes) merge(node, stays);
      dealt_out_.insert(alike.nodes.begin(), alike.nodes.end());
      if (!any_is_read(alike)) comes_last_.insert(stays);
    }
  }
  int replica_of(int node) const { return graph_.node(node).replica(); }
  std::size_t bytes_of(Value value) const {
    return static_cast<std::size_t>(element_count(to_dims(graph_.shape(value)))) *
           size_of(graph_.dtype(value));
  }
  bool any_is_read(const Alike& alike) const {
    return std::ranges::any_of(alike.nodes, [&](int node) {
      return std::ranges::any_of(graph_.node(node).outputs(), [&](Value made) {
        return made && !graph_.consumers(made).empty();
      });
    });
  }
  void merge(int node, int with) {
    const auto gone = graph_.node(node).outputs(), stay = graph_.node(with).outputs();
    for (std::size_t i = 0; i < gone.size(); ++i)
      if (gone[i] && stay[i]) stands_for_[at(gone[i].id)] = stay[i];
  }

  // Such as casts of parameters.
  void merge_what_states_make() {
    std::vector<bool> common(at(graph_.value_count()), false);
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (shared_[g])
        for (const Member& member : groups_[g])
          if (member.held) common[at(member.held.id)] = true;
    std::map<int, int> first;  // node by the number of its first result
    for (int i = 0; i < graph_.node_count(); ++i) {
      const Node node = graph_.node(i);
      const auto is_common = [&](Value x) { return !x || graph_.literal(x) || common[at(x.id)]; };
      if (node.op()->random || node.op()->exchange || node.op()->collective || !node.outputs()[0] ||
          !std::ranges::all_of(node.inputs(), is_common) ||
          std::ranges::none_of(node.inputs(), [&](Value x) { return x && common[at(x.id)]; }))
        continue;
      for (Value made : node.outputs())
        if (made) common[at(made.id)] = true;
      if (dealt_out_.contains(i)) continue;
      const int stays = first.emplace(number_of(node.outputs()[0]), i).first->second;
      if (stays != i && !is_seen(node.outputs()[0])) merge(i, stays);
    }
  }

  // A value that stands for another may itself be stood for.
  Value behind(Value value) const {
    while (value && stands_for_[at(value.id)] != value) value = stands_for_[at(value.id)];
    return value;
  }

  Graph write() {
    std::vector<bool> wanted = fetched_;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (!shared_[g]) continue;
      for (std::size_t k = 0; k < groups_[g].size(); ++k) {
        const Value made = behind(groups_[g][k].made);
        now_made_[common_.states[g][k]] = k == 0 && made ? graph_.name(made) : "";
      }
    }
    for (const Binding& update : updates_) {
      const auto now = now_made_.find(update.state);
      const std::string& name = now == now_made_.end() ? update.value : now->second;
      if (!name.empty()) wanted[at(graph_.at(name).id)] = true;
    }
    const std::vector<bool> stays = needed(wanted);
    GraphCopy copy(graph_, [&](Value input) { return behind(input) == input; });
    for (int index : order()) {
      const Node node = graph_.node(index);
      if (!stays[at(index)]) continue;
      take(copy, node, wanted);
    }
    for (Value output : graph_.outputs())
      if (const Value made = copy.of(behind(output)); made && wanted[at(behind(output).id)])
        copy.to().output(made);
    return std::move(copy.to());
  }

  // Nodes that others need; adds to `wanted` the values that these read.
  std::vector<bool> needed(std::vector<bool>& wanted) const {
    std::vector<bool> stays(at(graph_.node_count()), false);
    for (int i = graph_.node_count() - 1; i >= 0; --i) {
      const Node node = graph_.node(i);
      stays[at(i)] = node.op()->exchange || std::ranges::any_of(node.outputs(), [&](Value made) {
                       return made && wanted[at(made.id)];
                     });
      if (!stays[at(i)]) continue;
      for (Value operand : node.inputs())
        if (operand) wanted[at(behind(operand).id)] = true;
    }
    return stays;
  }

  // An update overwrites a state that replicas read, so it comes after the last reader.
  std::vector<int> order() const {
    std::vector<int> after(at(graph_.node_count()));
    std::iota(after.begin(), after.end(), 0);
    std::map<int, int> last_reader;  // by the value of a shared state
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (shared_[g])
        for (const Member& member : groups_[g])
          if (member.held)
            for (int reader : graph_.consumers(member.held)) {
              int& last = last_reader.emplace(groups_[g].front().held.id, -1).first->second;
              last = std::max(last, reader);
            }
    for (int node : comes_last_)
      for (Value operand : graph_.node(node).inputs())
        if (const auto last = last_reader.find(behind(operand).id); last != last_reader.end())
          after[at(node)] = std::max(after[at(node)], last->second);
    std::vector<int> order(after.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](int a, int b) {
      const bool a_moved = after[at(a)] != a, b_moved = after[at(b)] != b;
      return std::pair(after[at(a)], a_moved) < std::pair(after[at(b)], b_moved);
    });
    return order;
  }

  // A collective makes no result for replicas that do not need one.
  void take(GraphCopy& copy, const Node& node, const std::vector<bool>& wanted) const {
    ReplicaScope replica(copy.to(), node.replica());
    Graph::Names names{node.name(), {}};
    std::vector<Value> operands;
    for (Value operand : node.inputs()) operands.push_back(copy.of(behind(operand)));
    for (Value made : node.outputs())
      names.outputs.push_back(
          made && (wanted[at(made.id)] || !node.op()->collective) ? graph_.name(made) : "");
    const Node taken = copy.to().take(node, operands, names);
    for (std::size_t i = 0; i < node.outputs().size(); ++i)
      if (taken.outputs()[i]) copy.set(node.outputs()[i], taken.outputs()[i]);
  }

  const Graph& graph_;
  const InCommon& common_;
  const std::vector<Binding>& updates_;
  std::vector<std::vector<Value>> feeds_;
  std::vector<Group> groups_;
  std::vector<bool> shared_;       // by group
  std::vector<bool> fetched_;      // by value
  std::vector<int> numbers_;       // by value: the same for equal ones
  std::vector<Value> stands_for_;  // by value: the one that takes its place
  std::set<int> dealt_out_;        // nodes that make new states: of those alike one stays
  std::set<int> comes_last_;       // updates that nobody in the graph reads
  std::map<std::string, std::string> now_made_;  // by shared state: its new value; "": none
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
  Shared shared = Sharing(bound, common, updates, fetched).run();
  if (shared.states.empty()) return {std::move(bound), updates, {}, ""};
  return shared;
}

}  // namespace lockstep
