// SPDX-License-Identifier: Apache-2.0
// Values that follow from constants and shapes while a file is read: conditions and trip counts.
#pragma once

#include <optional>
#include <set>

#include "graph/passes/fold.h"
#include "lockstep/graph.h"

namespace lockstep {

class Conditions {
 public:
  // `folder` may be empty; then only constants and contents of shapes are known.
  Conditions(Graph& graph, const Folder& folder) : graph_(graph), folder_(folder) {}

  // A value that training may change is not constant.
  void add_trained(Value initializer) { trained_.insert(initializer.id); }

  // Returns the value if it is constant, and makes it a constant of the graph.
  std::optional<Literal> value_of(Value value);

 private:
  bool is_constant(Value value);
  bool follow(Value value, std::vector<int>& nodes);

  Graph& graph_;
  Folder folder_;
  std::set<int> trained_;  // values
  std::set<int> unknown_;  // values that are not constant
};

}  // namespace lockstep
