// SPDX-License-Identifier: Apache-2.0
#include "graph/dot.h"

#include <map>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "graph/printable.h"
#include "graph/scopes.h"

namespace lockstep {
namespace {

// A label of two lines. Names are escaped, so that no name starts another line.
std::string dot_label(const std::string& first, const std::string& second) {
  const std::string above = in_quotes(shortened(first)), below = in_quotes(shortened(second));
  return above.substr(0, above.size() - 1) + "\\n" + below.substr(1);
}

class DotWriter {
 public:
  DotWriter(const Graph& graph, const DotOptions& options) : graph_(graph) {
    if (!options.depth) return;
    scopes_ = scopes_of(graph);
    depth_ = *options.depth;
    for (int i = 0; i < graph.node_count(); ++i) {
      const int scope = scopes_.of_node[i];
      if (scopes_.all[scope].depth < depth_) continue;
      const int box = scopes_.folded(scope, depth_);
      const auto [known, fresh] = replica_of_box_.emplace(box, graph.node(i).replica());
      if (!fresh && known->second != graph.node(i).replica()) known->second = kEveryReplica;
    }
  }

  std::string write() {
    out_ << "digraph " << in_quotes(shortened(graph_.name()))
         << " {\n  node [shape=box fontname=\"sans-serif\"];\n";
    write_boxes();
    write_edges();
    out_ << "}\n";
    return out_.str();
  }

 private:
  // The box of a folded scope that contains the node, or -1.
  int box_of(int node) const {
    if (scopes_.all.empty()) return -1;
    const int scope = scopes_.of_node[node];
    return scopes_.all[scope].depth < depth_ ? -1 : scopes_.folded(scope, depth_);
  }
  std::string id_of(int node) const {
    const int box = box_of(node);
    return box < 0 ? join("n", node) : join("s", box);
  }

  void write_boxes() {
    std::map<int, std::vector<std::string>> of_replica;
    for (const auto& [box, replica] : replica_of_box_) {
      const Scope& scope = scopes_.all[box];
      of_replica[replica].push_back(
          join("s", box, " [label=",
               dot_label(scope.path.empty() ? graph_.name() : scope.path,
                         join(scope.nodes, scope.nodes == 1 ? " node" : " nodes")),
               " style=bold];"));
    }
    for (int i = 0; i < graph_.node_count(); ++i)
      if (const Node node = graph_.node(i); box_of(i) < 0)
        of_replica[node.replica()].push_back(
            join("n", i, " [label=", dot_label(node.type(), node.name()), "];"));
    for (const auto& [replica, boxes] : of_replica) {
      if (replica != kEveryReplica)
        out_ << "  subgraph cluster_" << replica << " {\n    label=\"replica " << replica
             << "\";\n";
      for (const std::string& box : boxes) out_ << "    " << box << "\n";
      if (replica != kEveryReplica) out_ << "  }\n";
    }
  }

  // Values between two boxes are one edge with their number if a scope is folded.
  void write_edges() {
    std::map<std::pair<std::string, std::string>, int> folded;
    for (int id = 0; id < graph_.value_count(); ++id) {
      const auto producer = graph_.producer({id});
      if (!producer) continue;
      const std::string from = id_of(producer->index());
      std::set<std::string>
          reached;  // a box counts a value once, however many of its nodes read it
      for (const int user : graph_.consumers({id})) {
        const std::string to = id_of(user);
        if (from.front() == 'n' && to.front() == 'n')
          out_ << "  " << from << " -> " << to
               << " [label=" << in_quotes(shortened(text_of(graph_.type({id})))) << "];\n";
        else if (from != to && reached.insert(to).second)
          ++folded[{from, to}];
      }
    }
    for (const auto& [ends, values] : folded)
      out_ << "  " << ends.first << " -> " << ends.second << " [label=\"" << values
           << (values == 1 ? " value" : " values") << "\"];\n";
  }

  const Graph& graph_;
  Scopes scopes_;
  int depth_ = 0;
  std::map<int, int> replica_of_box_;
  std::ostringstream out_;
};

}  // namespace

std::string dot_of(const Graph& graph, const DotOptions& options) {
  return DotWriter(graph, options).write();
}

}  // namespace lockstep
