// SPDX-License-Identifier: Apache-2.0
// The scopes of a graph's nodes: a tree by the parts of their names, for pictures that fold it.
#pragma once

#include <string>
#include <vector>

#include "lockstep/graph.h"

namespace lockstep {

struct Scope {
  std::string path;  // cpu_0/layer1.0; "" for the whole graph
  int parent = -1;
  int depth = 0;
  int nodes = 0;  // in the scope and in all scopes within
};

// A slash or a dot ends a part of a name: cpu_0/layer1.0.conv1 is in the scope cpu_0/layer1.0. If a
// scope has many nodes of its own, words that end with an underscore are parts, too, where several
// nodes share them: res2_0_branch2a is in res2_0.
struct Scopes {
  std::vector<Scope> all;    // 0 is the whole graph; a parent precedes its children
  std::vector<int> of_node;  // the innermost scope of each node

  // The scope that contains `scope` and is at most `depth` deep.
  int folded(int scope, int depth) const;
};
Scopes scopes_of(const Graph& graph);

}  // namespace lockstep
