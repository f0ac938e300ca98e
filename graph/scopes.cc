// SPDX-License-Identifier: Apache-2.0
#include "graph/scopes.h"

#include <map>
#include <string_view>
#include <utility>

namespace lockstep {
namespace {

constexpr int kDeepestScope = 16;       // a name from a file may have a million parts
constexpr std::size_t kManyNodes = 40;  // of one scope, that are looked at one by one

class ScopeFinder {
 public:
  explicit ScopeFinder(const Graph& graph) : graph_(graph), begins_(graph.node_count(), 0) {
    scopes_.all.push_back({});
    scopes_.of_node.assign(graph.node_count(), 0);
  }

  Scopes find() {
    for (int i = 0; i < graph_.node_count(); ++i)
      while (enter_part(i, "/.")) {
      }
    divide_by_words();
    for (const int scope : scopes_.of_node)
      for (int at = scope; at >= 0; at = scopes_.all[at].parent) ++scopes_.all[at].nodes;
    return std::move(scopes_);
  }

 private:
  // The next part of the node's name, with its separator; empty at the last part.
  std::string_view part_of(int node, const char* separators) const {
    const std::string_view rest = std::string_view(graph_.node(node).name()).substr(begins_[node]);
    const std::size_t end = rest.find_first_of(separators);
    return end == rest.npos || end + 1 == rest.size() ? "" : rest.substr(0, end + 1);
  }

  // Moves the node into the scope of its next part; false if there is none.
  bool enter_part(int node, const char* separators) {
    const int parent = scopes_.of_node[node];
    const std::string_view part = part_of(node, separators);
    if (part.empty() || scopes_.all[parent].depth == kDeepestScope) return false;
    const auto [known, fresh] = children_.emplace(std::pair{parent, std::string(part)},
                                                  static_cast<int>(scopes_.all.size()));
    begins_[node] += part.size();
    if (fresh) {
      const std::string& name = graph_.node(node).name();
      scopes_.all.push_back(
          {name.substr(0, begins_[node] - 1), parent, scopes_.all[parent].depth + 1});
    }
    scopes_.of_node[node] = known->second;
    return true;
  }

  void divide_by_words() {
    std::vector<std::vector<int>> own(scopes_.all.size());
    for (int i = 0; i < graph_.node_count(); ++i) own[scopes_.of_node[i]].push_back(i);
    for (std::size_t scope = 0; scope < own.size(); ++scope) {  // `own` grows with the scopes
      const std::vector<int> nodes = std::move(own[scope]);
      if (nodes.size() <= kManyNodes) continue;
      std::map<std::string_view, std::vector<int>> by_word;
      for (const int node : nodes)
        if (const std::string_view word = part_of(node, "_"); !word.empty())
          by_word[word].push_back(node);
      for (const auto& [word, of_word] : by_word) {
        if (of_word.size() < 2) continue;
        for (const int node : of_word) enter_part(node, "_");
        own.resize(scopes_.all.size());
        const int inner = scopes_.of_node[of_word.front()];
        if (inner != static_cast<int>(scope)) own[inner] = of_word;
      }
    }
  }

  const Graph& graph_;
  std::vector<std::size_t> begins_;  // where the rest of each node's name begins
  std::map<std::pair<int, std::string>, int> children_;
  Scopes scopes_;
};

}  // namespace

int Scopes::folded(int scope, int depth) const {
  while (all[scope].depth > depth) scope = all[scope].parent;
  return scope;
}

Scopes scopes_of(const Graph& graph) { return ScopeFinder(graph).find(); }

}  // namespace lockstep
