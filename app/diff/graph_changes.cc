// SPDX-License-Identifier: Apache-2.0
#include "app/diff/graph_changes.h"

#include <algorithm>

#include "graph/attribute_changes.h"
#include "graph/literal_difference.h"

namespace lockstep {
namespace {

constexpr const char* kGroup = "__replicas";  // of a collective: follows its operands

class GraphComparison {
 public:
  GraphComparison(const GraphMatch& match, DiffPart part, const ListedInputs& listed,
                  Changes& changes)
      : match_(match),
        a_(match.a()),
        b_(match.b()),
        part_(part),
        listed_(listed),
        changes_(changes),
        is_implied_(match) {}

  void run() {
    for (int i = 0; i < a_.graph.node_count(); ++i) {
      const Node node = a_.graph.node(i);
      if (const int other = match_.node_in_b(i); other == GraphMatch::kNone)
        add_one_sided(a_, node, DiffKind::only_in_a);
      else
        compare(node, b_.graph.node(other));
    }
    for (int i = 0; i < b_.graph.node_count(); ++i)
      if (match_.node_in_a(i) == GraphMatch::kNone)
        add_one_sided(b_, b_.graph.node(i), DiffKind::only_in_b);
    for (int id = 0; id < a_.graph.value_count(); ++id) compare_value(Value{id});
    for (int id = 0; id < b_.graph.value_count(); ++id)
      if (const Value value{id}; !match_.value_in_a(value) && is_leaf(b_.graph, value))
        add_leaf(b_, value, listed_.b, DiffKind::only_in_b,
                 [&](int user) { return match_.node_in_a(user); });
    compare_outputs();
  }

 private:
  static std::string text(std::string_view part) { return std::string(part); }
  static std::string name_of_value(const NamedGraph& graph, Value value) {
    return value ? text(graph.name(value).rest) : "(none)";
  }

  Change& add(const NamedGraph& graph, const Node& node, DiffKind kind, std::string what = "") {
    changes_.push_back({.part = part_,
                        .kind = kind,
                        .of = node.type(),
                        .name = text(graph.name(node).rest),
                        .what = std::move(what),
                        .replica = node.replica(),
                        .is_node = true});
    return changes_.back();
  }

  void add_changed(const Node& node, std::string what, std::string a, std::string b) {
    Change& change = add(a_, node, DiffKind::changed, std::move(what));
    change.a = std::move(a);
    change.b = std::move(b);
  }

  void add_one_sided(const NamedGraph& graph, const Node& node, DiffKind kind) {
    add(graph, node, kind).note = neighbours_of(node);
  }

  // "between AllReduce and MomentumSGDUpdate": the first neighbours on both sides.
  static std::string neighbours_of(const Node& node) {
    std::string before, after;
    for (Value operand : node.inputs())
      if (const auto maker = operand ? node.graph().producer(operand) : std::nullopt;
          maker && before.empty())
        before = maker->type();
    for (Value result : node.outputs())
      if (after.empty() && result && !node.graph().consumers(result).empty())
        after = node.graph().node(node.graph().consumers(result)[0]).type();
    if (before.empty() || after.empty())
      return before.empty() && after.empty()
                 ? ""
                 : (before.empty() ? "before " : "after ") + before + after;
    return "between " + before + " and " + after;
  }

  void compare(const Node& a, const Node& b) {
    if (!same_operator(a, b)) add_changed(a, "operator", a.type(), b.type());
    const bool has_same_size =
        a.inputs().size() == b.inputs().size() && a.outputs().size() == b.outputs().size();
    if (!same_attributes(a, b))
      for (AttributeChange& attribute : attribute_changes(a, b))
        if (attribute.name != kGroup || has_same_size)
          add_changed(a, "attribute " + attribute.name, std::move(attribute.a),
                      std::move(attribute.b));
    compare_operands(a, b);
    if (a.outputs().size() != b.outputs().size())
      add_changed(a, "number of results", std::to_string(a.outputs().size()),
                  std::to_string(b.outputs().size()));
    if (a.replica() != b.replica())
      add_changed(a, "replica", text_of_replica(a), text_of_replica(b));
    compare_names(a, b);
  }

  static std::string text_of_replica(const Node& node) {
    return node.replica() == kEveryReplica ? "all" : std::to_string(node.replica());
  }

  void compare_operands(const Node& a, const Node& b) {
    const std::size_t both = std::min(a.inputs().size(), b.inputs().size());
    for (std::size_t k = 0; k < both; ++k) {
      const Value x = a.inputs()[k], y = b.inputs()[k];
      if ((!x && !y) || (x && y && match_.value_in_b(x) == y) || is_implied_(x, y)) continue;
      add_changed(a, join("operand ", k), name_of_value(a_, x), name_of_value(b_, y));
    }
    if (a.inputs().size() != b.inputs().size())
      add_changed(a, "number of operands", std::to_string(a.inputs().size()),
                  std::to_string(b.inputs().size()));
  }

  // A node's name often is the name of its first result.
  void compare_names(const Node& a, const Node& b) {
    const ScopedName of_a = a_.name(a), of_b = b_.name(b);
    if (of_a != of_b) {
      Change& change = add(a_, a, DiffKind::renamed);
      change.a = text(of_a.rest);
      change.b = text(of_b.rest);
    } else if (const ScopedName x = a_.names.of(a.name()), y = b_.names.of(b.name()); x != y) {
      Change& change = add(a_, a, DiffKind::renamed, "name of the node");
      change.a = text(x.rest);
      change.b = text(y.rest);
    }
  }

  // Users that both sides have differ by an operand, which is listed.
  template <class Partner>
  void add_leaf(const NamedGraph& graph, Value value,
                const std::unordered_set<std::string_view>& listed, DiffKind kind,
                const Partner& partner) {
    if (listed.count(graph.graph.name(value)) > 0) return;
    const bool is_constant = graph.graph.literal(value) != nullptr;
    const std::vector<int>& users = graph.graph.consumers(value);
    if (is_constant && !users.empty()) return;
    const bool has_common_user = std::any_of(
        users.begin(), users.end(), [&](int user) { return partner(user) != GraphMatch::kNone; });
    if (has_common_user) return;
    const ScopedName name = graph.name(value);
    changes_.push_back({.part = part_,
                        .kind = kind,
                        .of = is_constant ? "constant" : "input",
                        .name = text(name.rest),
                        .replica = name.replica});
  }

  void compare_value(Value a) {
    const Value b = match_.value_in_b(a);
    const bool leaf = is_leaf(a_.graph, a);
    if (!b) {
      if (leaf)
        add_leaf(a_, a, listed_.a, DiffKind::only_in_a,
                 [&](int user) { return match_.node_in_b(user); });
      return;
    }
    if (leaf && listed_.a.count(a_.graph.name(a)) > 0) return;
    const Literal *of_a = a_.graph.literal(a), *of_b = b_.graph.literal(b);
    const ScopedName name = a_.name(a);
    const auto add_of_value = [&](DiffKind kind, const char* what, std::string x, std::string y) {
      const char* sort = !leaf ? "result" : of_a ? "constant" : "input";
      changes_.push_back({.part = part_,
                          .kind = kind,
                          .of = sort,
                          .name = text(name.rest),
                          .what = what,
                          .a = std::move(x),
                          .b = std::move(y),
                          .replica = name.replica});
    };
    const TensorType &type_a = a_.graph.type(a), &type_b = b_.graph.type(b);
    if (!same_type(type_a, type_b))
      add_of_value(DiffKind::changed, "type", text_of(type_a), text_of(type_b));
    else if (of_a && of_b && *of_a != *of_b)
      add_content(*of_a, *of_b, add_of_value);
    if ((of_a == nullptr) != (of_b == nullptr))
      add_of_value(DiffKind::changed, "sort", of_a ? "constant" : "no constant",
                   of_b ? "constant" : "no constant");
    if (leaf && b_.name(b) != name)
      add_of_value(DiffKind::renamed, "", text(name.rest), text(b_.name(b).rest));
  }

  // Shows a constant of one element as a value, and the first difference of others.
  template <class Add>
  static void add_content(const Literal& a, const Literal& b, const Add& add_of_value) {
    const std::string difference = first_difference(a, b);
    const std::size_t begin = difference.find(": "), arrow = difference.find(" -> ");
    if (difference.empty() || begin == difference.npos || arrow == difference.npos) return;
    const std::string place = a.count() == 1 ? "" : difference.substr(0, begin) + " ";
    add_of_value(DiffKind::changed, "content",
                 place + difference.substr(begin + 2, arrow - begin - 2),
                 place + difference.substr(arrow + 4));
  }

  // Outputs of steps are losses, metrics and new states, which are listed. A network's outputs have
  // an order.
  void compare_outputs() {
    const std::vector<Value>&of_a = a_.graph.outputs(), &of_b = b_.graph.outputs();
    const auto has = [](const std::vector<Value>& list, Value value) {
      return std::find(list.begin(), list.end(), value) != list.end();
    };
    if (part_ != DiffPart::inference) return;
    bool same_set = true;
    for (Value value : of_a)
      if (const Value other = match_.value_in_b(value); !other || !has(of_b, other))
        add_output(a_, value, DiffKind::only_in_a), same_set = false;
    for (Value value : of_b)
      if (const Value other = match_.value_in_a(value); !other || !has(of_a, other))
        add_output(b_, value, DiffKind::only_in_b), same_set = false;
    if (!same_set) return;
    for (std::size_t k = 0; k < of_a.size(); ++k)
      if (const Value other = match_.value_in_b(of_a[k]); other != of_b[k])
        changes_.push_back(
            {.part = part_,
             .of = "output",
             .name = text(a_.name(of_a[k]).rest),
             .what = "position",
             .a = std::to_string(k),
             .b = std::to_string(std::find(of_b.begin(), of_b.end(), other) - of_b.begin())});
  }

  void add_output(const NamedGraph& graph, Value value, DiffKind kind) {
    changes_.push_back(
        {.part = part_, .kind = kind, .of = "output", .name = text(graph.name(value).rest)});
  }

  const GraphMatch& match_;
  const NamedGraph &a_, &b_;
  const DiffPart part_;
  const ListedInputs& listed_;
  Changes& changes_;
  ImpliedBetween is_implied_;
};

}  // namespace

void add_graph_changes(const GraphMatch& match, DiffPart part, const ListedInputs& listed,
                       Changes& changes) {
  GraphComparison(match, part, listed, changes).run();
}

}  // namespace lockstep
