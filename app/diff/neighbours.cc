// SPDX-License-Identifier: Apache-2.0
#include "app/diff/neighbours.h"

#include <algorithm>
#include <cctype>
#include <unordered_set>

#include "graph/attribute_changes.h"

namespace lockstep {
namespace {

// A value with more users says little about each of them, and takes long to look through.
constexpr std::size_t kMostUsers = 64;

void drop_number(std::string_view& name) {
  while (!name.empty() && std::isdigit(static_cast<unsigned char>(name.back())) != 0)
    name.remove_suffix(1);
  while (!name.empty() && (name.back() == '_' || name.back() == '.')) name.remove_suffix(1);
}

bool equal_in_lower_case(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

}  // namespace

bool is_numbered(std::string_view name, const std::string& type) {
  constexpr std::string_view kOutput = "_output";  // of PyTorch's exporter
  drop_number(name);
  if (name.ends_with(kOutput)) {
    name.remove_suffix(kOutput.size());
    drop_number(name);
  }
  if (const std::size_t end = name.find_last_of("/:"); end != name.npos)
    name.remove_prefix(end + 1);
  return name.empty() ||
         std::equal(name.begin(), name.end(), type.begin(), type.end(), equal_in_lower_case);
}

bool Neighbours::may_be(const Node& candidate, const Node& node) const {
  return match_.node_in_a(candidate.index()) == GraphMatch::kNone &&
         same_operator(node, candidate) && candidate.replica() == node.replica();
}

// True if another node of a has the candidate's name and may still become its partner.
bool Neighbours::is_claimed(const Node& candidate, const Node& by_other_than) const {
  const Graph& graph = match_.a().graph;
  if (values_of_a_.empty())
    for (int id = 0; id < graph.value_count(); ++id)
      values_of_a_.emplace(match_.a().name(Value{id}), id);
  const ScopedName name = match_.b().name(candidate);
  const auto found = values_of_a_.find(name);
  const auto claims = found == values_of_a_.end() ? std::nullopt : graph.producer({found->second});
  if (!claims || claims->index() == by_other_than.index() ||
      match_.node_in_b(claims->index()) != GraphMatch::kNone || !same_operator(*claims, candidate))
    return false;
  if (!is_numbered(name.rest, candidate.type())) return true;
  const Agreement claim = match_.agreement(*claims, candidate);
  return claim.conflict == 0 && claim.agree > 0;
}

int Neighbours::by_operands(const Node& node) const {
  struct Candidate {
    int node = GraphMatch::kNone, agree = 0;
    bool same = false, open = false;
  };
  Candidate best;
  bool tied = false;
  const Graph& graph = match_.b().graph;
  std::unordered_set<int> looked_at;  // a candidate shares many operands
  for (Value operand : node.inputs()) {
    const Value other = match_.value_in_b(operand);
    if (!other || graph.consumers(other).size() > kMostUsers) continue;
    for (const int user : graph.consumers(other)) {
      const Node candidate = graph.node(user);
      if (!looked_at.insert(user).second || !may_be(candidate, node)) continue;
      const Agreement found = match_.agreement(node, candidate);
      if (found.conflict > 0 || found.agree < best.agree || is_claimed(candidate, node)) continue;
      const Candidate next{user, found.agree, same_attributes(node, candidate), found.open > 0};
      const bool better = next.agree > best.agree || (next.same && !best.same);
      // Of several copies of one computation the first is as good as any.
      if (better)
        tied = false;
      else if (next.same == best.same)
        tied = next.open || best.open;
      if (better) best = next;
    }
  }
  return tied ? GraphMatch::kNone : best.node;
}

int Neighbours::by_users(const Node& node) const {
  const Graph &of_a = match_.a().graph, &of_b = match_.b().graph;
  int found = GraphMatch::kNone;
  for (Value result : node.outputs()) {
    if (!result || of_a.consumers(result).size() > kMostUsers) continue;
    for (const int user : of_a.consumers(result)) {
      const int other = match_.node_in_b(user);
      if (other == GraphMatch::kNone) continue;
      const auto inputs = of_a.node(user).inputs(), others = of_b.node(other).inputs();
      for (std::size_t k = 0; k < std::min(inputs.size(), others.size()); ++k) {
        if (inputs[k] != result || !others[k]) continue;
        const auto maker = of_b.producer(others[k]);
        if (!maker || !may_be(*maker, node) || is_claimed(*maker, node)) continue;
        if (found != GraphMatch::kNone && found != maker->index()) return GraphMatch::kNone;
        found = maker->index();
      }
    }
  }
  return found;
}

}  // namespace lockstep
