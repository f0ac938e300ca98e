// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel/rewrite.h"

namespace lockstep {

Rewritten unchanged(Graph graph) {
  std::vector<Value> in_place;
  for (int id = 0; id < graph.value_count(); ++id) in_place.push_back({id});
  return {std::move(graph), std::move(in_place), {}};
}

std::vector<Value> moved_on(std::vector<Value> first, const std::vector<Value>& second) {
  for (Value& value : first)
    if (value) value = second[value.id];
  return first;
}

}  // namespace lockstep
