// SPDX-License-Identifier: Apache-2.0
// Names come first: people and builders chose them. Numbered names count only if operands do not
// contradict. The nodes that are left are paired by their neighbours.
#include <algorithm>

#include "app/diff/graph_match.h"
#include "app/diff/neighbours.h"

namespace lockstep {
namespace {

constexpr int kRounds = 3;                   // by neighbours; each makes more of them known
constexpr std::size_t kMostOpenInputs = 64;  // more are hardly the only ones of their types

class Pairing {
 public:
  explicit Pairing(GraphMatch& match)
      : match_(match), a_(match.a().graph), b_(match.b().graph), neighbours_(match) {
    values_.reserve(static_cast<std::size_t>(b_.value_count()));
    for (int id = 0; id < b_.value_count(); ++id) values_.emplace(match.b().name(Value{id}), id);
    nodes_.reserve(static_cast<std::size_t>(b_.node_count()));
    for (int i = 0; i < b_.node_count(); ++i) {
      const auto [known, is_new] = nodes_.emplace(match.b().names.of(b_.node(i).name()), i);
      if (!is_new) known->second = GraphMatch::kNone;  // several nodes have the name
    }
  }

  void run() {
    pair_leaves();
    pair_only_inputs();
    for (int i = 0; i < a_.node_count(); ++i) consider(a_.node(i));
    for (const int i : deferred_) pair_if_free(i, named(a_.node(i)));
    for (int i = 0; i < a_.node_count(); ++i) pair_if_free(i, replaced(a_.node(i)));
    pair_outputs();
    for (int round = 0, before = -1; round < kRounds && before != match_.pairs(); ++round) {
      before = match_.pairs();
      for (int i = a_.node_count() - 1; i >= 0; --i)
        if (is_free(i)) pair_if_free(i, neighbours_.by_users(a_.node(i)));
      for (int i = 0; i < a_.node_count(); ++i)
        if (is_free(i)) pair_if_free(i, neighbours_.by_operands(a_.node(i)));
    }
  }

 private:
  bool is_free(int of_a) const { return match_.node_in_b(of_a) == GraphMatch::kNone; }
  bool is_free_in_b(int of_b) const {
    return of_b != GraphMatch::kNone && match_.node_in_a(of_b) == GraphMatch::kNone;
  }
  void pair_if_free(int of_a, int of_b) {
    if (is_free(of_a) && is_free_in_b(of_b)) match_.pair(of_a, of_b);
  }

  Value named_value(Value of_a) const {
    const auto found = values_.find(match_.a().name(of_a));
    return {found == values_.end() ? GraphMatch::kNone : found->second};
  }
  // The node of b whose result, or else the node itself, has the name.
  int named_with_any_operator(const Node& node) const {
    if (const Value result = first_result(node))
      if (const Value same = named_value(result))
        if (const auto maker = b_.producer(same)) return maker->index();
    const auto found = nodes_.find(match_.a().names.of(node.name()));
    return found == nodes_.end() ? GraphMatch::kNone : found->second;
  }
  int named(const Node& node) const {
    const int found = named_with_any_operator(node);
    const bool fits = found != GraphMatch::kNone && same_operator(node, b_.node(found));
    return fits ? found : GraphMatch::kNone;
  }
  bool has_numbered_name(const Node& node) const {
    return is_numbered(match_.a().name(node).rest, node.type());
  }

  void pair_leaves() {
    for (int id = 0; id < a_.value_count(); ++id)
      if (const Value value{id}; is_leaf(a_, value))
        if (const Value same = named_value(value); is_leaf(b_, same)) match_.pair(value, same);
  }

  // Pairs inputs with other names if each is the only one of its type that is left.
  void pair_only_inputs() {
    std::vector<Value> left_a, left_b;
    for (Value value : a_.inputs())
      if (!match_.value_in_b(value)) left_a.push_back(value);
    for (Value value : b_.inputs())
      if (!match_.value_in_a(value)) left_b.push_back(value);
    if (left_a.size() > kMostOpenInputs || left_b.size() > kMostOpenInputs) return;
    const auto with_type = [](const Graph& graph, const std::vector<Value>& left,
                              const TensorType& type) {
      std::vector<Value> found;
      for (Value value : left)
        if (same_type(graph.type(value), type)) found.push_back(value);
      return found;
    };
    for (Value value : left_a) {
      const std::vector<Value> like_a = with_type(a_, left_a, a_.type(value));
      const std::vector<Value> like_b = with_type(b_, left_b, a_.type(value));
      if (like_a.size() == 1 && like_b.size() == 1) match_.pair(value, like_b[0]);
    }
  }

  // Decides about a node, whose operands have been considered.
  void consider(const Node& node) {
    const int same = named(node);
    if (!is_free_in_b(same)) {
      pair_if_free(node.index(), neighbours_.by_operands(node));
      return;
    }
    const Agreement by_name = match_.agreement(node, b_.node(same));
    if (by_name.conflict == 0 || by_name.agree > by_name.conflict || !has_numbered_name(node))
      return match_.pair(node.index(), same);
    if (const int found = neighbours_.by_operands(node); found != GraphMatch::kNone)
      match_.pair(node.index(), found);
    else
      deferred_.push_back(node.index());
  }

  // The node of b with the same name on the same replica, and another operator.
  int replaced(const Node& node) const {
    if (!is_free(node.index()) || has_numbered_name(node)) return GraphMatch::kNone;
    const int other = named_with_any_operator(node);
    if (other == GraphMatch::kNone) return other;
    const Node in_b = b_.node(other);
    const bool fits =
        in_b.replica() == node.replica() && in_b.outputs().size() == node.outputs().size();
    return fits ? other : GraphMatch::kNone;
  }

  // The makers of the outputs, position by position.
  void pair_outputs() {
    if (a_.outputs().size() != b_.outputs().size()) return;
    for (std::size_t k = 0; k < a_.outputs().size(); ++k) {
      const auto of_a = a_.producer(a_.outputs()[k]), of_b = b_.producer(b_.outputs()[k]);
      if (of_a && of_b && same_operator(*of_a, *of_b)) pair_if_free(of_a->index(), of_b->index());
    }
  }

  GraphMatch& match_;
  const Graph &a_, &b_;
  Neighbours neighbours_;
  NamedIds values_, nodes_;    // of b
  std::vector<int> deferred_;  // nodes with numbered names that their operands contradict
};

}  // namespace

GraphMatch match_graphs(const NamedGraph& a, const NamedGraph& b) {
  GraphMatch match(a, b);
  Pairing(match).run();
  return match;
}

}  // namespace lockstep
