#include "builders/replicas.h"

#include <algorithm>

namespace lockstep {
namespace {

// What an operand is, said alike on every replica that is built alike.
std::string operand(const ReplicaPart& part, const Graph& graph, Value value) {
  if (!value) return "nothing";
  if (const Literal* literal = graph.literal(value)) return text_of(*literal);
  const auto maker = graph.producer(value);
  if (maker && maker->index() >= part.first && maker->index() < part.last) {
    const auto outputs = maker->outputs();
    return join("result ", std::find(outputs.begin(), outputs.end(), value) - outputs.begin(),
                " of node ", maker->index() - part.first);
  }
  const std::string& name = graph.name(value);  // begins with the replica's scope
  return "'" + name.substr(name.find('/') + 1) + "'";
}

std::string signature(const ReplicaPart& part, const Node& node) {
  std::string text = node.domain() + node.type();
  for (const std::string& attribute : node.attribute_texts())
    if (attribute.rfind("__", 0) != 0) text += " " + attribute;
  for (Value input : node.inputs()) text += " (" + operand(part, node.graph(), input) + ")";
  for (Value output : node.outputs()) text += " " + text_of(node.graph().type(output));
  return text;
}

// The texts of long constants are cut.
bool same_constants(const Node& mine, const Node& theirs) {
  for (std::size_t i = 0; i < mine.inputs().size(); ++i) {
    if (!mine.inputs()[i]) continue;
    const Literal* a = mine.graph().literal(mine.inputs()[i]);
    const Literal* b = theirs.graph().literal(theirs.inputs()[i]);
    if (a && b && !(*a == *b)) return false;
  }
  return true;
}

std::string entry(const ReplicaPart& part, const Graph& graph, const Net::Named& item) {
  return join("'", item.name, "', ", operand(part, graph, item.value));
}
std::string entry(const ReplicaPart&, const Graph&, const Net::Param& param) {
  return join("'", param.name, "', a ", name_of(param.kind));
}

}  // namespace

void check_same_network(const Graph& graph, const ReplicaPart& first, const ReplicaPart& other,
                        int replica) {
  auto check_entries = [&](const auto& theirs, const auto& mine, const char* what) {
    for (std::size_t i = 0; i < std::max(theirs.size(), mine.size()); ++i) {
      const std::string expected = i < theirs.size() ? entry(first, graph, theirs[i]) : "nothing";
      const std::string found = i < mine.size() ? entry(other, graph, mine[i]) : "nothing";
      check(expected == found, "replica ", replica,
            " builds another network than replica 0: ", what, " ", i, " is ", found,
            ", on replica 0 it is ", expected);
    }
  };
  check_entries(first.net->params(), other.net->params(), "parameter");
  check_entries(first.net->inputs(), other.net->inputs(), "input");
  const int count = std::max(first.last - first.first, other.last - other.first);
  for (int i = 0; i < count; ++i) {
    const bool here = other.first + i < other.last, there = first.first + i < first.last;
    check(here && there, "replica ", replica, " builds another network than replica 0: it has ",
          other.last - other.first, " nodes instead of ", first.last - first.first, "; ",
          here ? "replica 0 lacks " + graph.node(other.first + i).description()
               : "it lacks " + graph.node(first.first + i).description());
    const Node mine = graph.node(other.first + i), theirs = graph.node(first.first + i);
    const std::string found = signature(other, mine), expected = signature(first, theirs);
    check(found == expected && same_constants(mine, theirs), "replica ", replica,
          " builds another network than replica 0: ", mine.description(), " is ", found, ", ",
          theirs.description(), " is ", expected);
  }
  check_entries(first.net->losses(), other.net->losses(), "loss");
  check_entries(first.net->metrics(), other.net->metrics(), "metric");
  for (std::size_t p = 0; p < first.net->params().size(); ++p) {
    const Net::Param &theirs = first.net->params()[p], &mine = other.net->params()[p];
    check(operand(other, graph, mine.next) == operand(first, graph, theirs.next), "replica ",
          replica, " builds another network than replica 0: the next value of '", mine.name,
          "' is ", operand(other, graph, mine.next), ", on replica 0 ",
          operand(first, graph, theirs.next));
  }
}

}  // namespace lockstep
