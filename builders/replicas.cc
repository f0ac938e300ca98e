#include "builders/replicas.h"

#include <algorithm>

namespace lockstep {
namespace {

template <class Item>
void check_same_names(const std::vector<Item>& first, const std::vector<Item>& other, int replica,
                      const char* what) {
  for (std::size_t i = 0; i < std::max(first.size(), other.size()); ++i) {
    std::string expected = i < first.size() ? join("'", first[i].name, "'") : join("nothing");
    std::string found = i < other.size() ? join("'", other[i].name, "'") : join("nothing");
    check(expected == found, "replica ", replica, " builds another network than replica 0: ", what,
          " ", i, " is ", found, ", on replica 0 it is ", expected);
  }
}

std::string signature(const Node& node) {
  std::string text = node.domain() + node.type();
  for (const std::string& attribute : node.attribute_texts())
    if (attribute.rfind("__", 0) != 0) text += " " + attribute;
  for (Value output : node.outputs()) text += " " + text_of(node.graph().type(output));
  return text;
}

}  // namespace

void check_same_network(const Graph& graph, const ReplicaPart& first, const ReplicaPart& other,
                        int replica) {
  check_same_names(first.net->params(), other.net->params(), replica, "parameter");
  check_same_names(first.net->inputs(), other.net->inputs(), replica, "input");
  check_same_names(first.net->losses(), other.net->losses(), replica, "loss");
  check_same_names(first.net->metrics(), other.net->metrics(), replica, "metric");
  const int count = std::max(first.last - first.first, other.last - other.first);
  for (int i = 0; i < count; ++i) {
    const bool here = other.first + i < other.last, there = first.first + i < first.last;
    check(here && there, "replica ", replica, " builds another network than replica 0: it has ",
          other.last - other.first, " nodes instead of ", first.last - first.first, "; ",
          here ? "replica 0 lacks " + graph.node(other.first + i).description()
               : "it lacks " + graph.node(first.first + i).description());
    Node mine = graph.node(other.first + i), theirs = graph.node(first.first + i);
    check(signature(mine) == signature(theirs), "replica ", replica,
          " builds another network than replica 0: ", mine.description(), " is ", signature(mine),
          ", ", theirs.description(), " is ", signature(theirs));
  }
}

}  // namespace lockstep
