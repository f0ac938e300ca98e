// SPDX-License-Identifier: Apache-2.0
// Scopes of nodes, and pictures that fold them.
#include "graph/scopes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/dot.h"
#include "lockstep/operators.h"

namespace lockstep::testing {
namespace {

Graph named(const std::vector<std::string>& names) {
  Graph graph(all_ops(), "net");
  Value at = graph.input("x", {DType::float32, {2}});
  for (const std::string& name : names) at = relu(graph, at, Site(name));
  graph.output(at);
  return graph;
}

std::vector<std::string> paths(const Scopes& scopes) {
  std::vector<std::string> all;
  for (const Scope& scope : scopes.all) all.push_back(scope.path);
  return all;
}

TEST(Scopes, EndAtSlashesAndDots) {
  const Graph graph =
      named({"cpu_0/layer1.0.conv1", "cpu_0/layer1.0.bn1", "cpu_0/fc", "sum", "a/"});
  const Scopes scopes = scopes_of(graph);
  EXPECT_EQ(paths(scopes),
            (std::vector<std::string>{"", "cpu_0", "cpu_0/layer1", "cpu_0/layer1.0"}));
  EXPECT_EQ(scopes.of_node, (std::vector<int>{3, 3, 1, 0, 0}));
  EXPECT_EQ(scopes.all[0].nodes, 5);
  EXPECT_EQ(scopes.all[1].nodes, 3);
  EXPECT_EQ(scopes.all[3].nodes, 2);
  EXPECT_EQ(scopes.folded(3, 1), 1);
  EXPECT_EQ(scopes.folded(3, 9), 3);
  EXPECT_EQ(scopes.folded(3, 0), 0);
}

// Detectron's names have no other separators.
TEST(Scopes, OfManyNodesEndAtWords) {
  std::vector<std::string> names{"conv1", "pool1"};
  for (int stage = 2; stage < 6; ++stage)
    for (int block = 0; block < 3; ++block)
      for (const char* part : {"a", "b", "c", "sum"})
        names.push_back(join("res", stage, "_", block, "_branch2", part));
  const Scopes scopes = scopes_of(named(names));
  EXPECT_EQ(paths(scopes), (std::vector<std::string>{"", "res2", "res3", "res4", "res5"}))
      << "the twelve nodes of a stage are few";
  EXPECT_EQ(scopes.all[2].nodes, 12);
  EXPECT_EQ(scopes.of_node[0], 0);
  names.resize(30);
  EXPECT_EQ(scopes_of(named(names)).all.size(), 1u) << "few nodes are not divided";
}

TEST(Dot, FoldsScopesBelowADepth) {
  const Graph graph = named({"a/b/one", "a/b/two", "a/three", "four"});
  const std::string whole = dot_of(graph);
  EXPECT_EQ(std::count(whole.begin(), whole.end(), '>'), 3) << whole;
  const std::string folded = dot_of(graph, {.depth = 1});
  EXPECT_NE(folded.find("[label=\"a\\n3 nodes\" style=bold]"), folded.npos) << folded;
  EXPECT_NE(folded.find("[label=\"Relu\\nfour\"]"), folded.npos) << folded;
  EXPECT_EQ(std::count(folded.begin(), folded.end(), '>'), 1) << folded;
  EXPECT_NE(folded.find("s1 -> n3 [label=\"1 value\"]"), folded.npos) << folded;
  const std::string deeper = dot_of(graph, {.depth = 2});
  EXPECT_NE(deeper.find("[label=\"a/b\\n2 nodes\" style=bold]"), deeper.npos) << deeper;
  EXPECT_NE(deeper.find("[label=\"Relu\\na/three\"]"), deeper.npos) << deeper;
  EXPECT_NE(dot_of(graph, {.depth = 0}).find("[label=\"net\\n4 nodes\" style=bold]"), folded.npos);
}

}  // namespace
}  // namespace lockstep::testing
