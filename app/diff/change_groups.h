// SPDX-License-Identifier: Apache-2.0
// Changes of one sort, to be told together: an attribute of all nodes of an operator, the nodes
// that one side lacks.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "app/diff/change.h"

namespace lockstep {

// A change on all replicas that have it.
struct ChangedItem {
  const Change* change;
  std::set<int> replicas;  // without -1
};
// Joins changes that differ by their replica alone, in their order. `changes` must outlive the
// items.
std::vector<ChangedItem> changed_items(const Changes& changes);

struct ChangeGroup {
  DiffPart part{};
  DiffKind kind{};
  std::vector<ChangedItem> items;
  bool is_aspect = false;  // an aspect of nodes that both sides have: an attribute, an operand
};
std::vector<ChangeGroup> change_groups(const Changes& changes);

// A line about a group: "53 WeightedSum only in B" and ": conv1_bn_grad_decayed, ..". Names are
// printable and cut.
struct GroupText {
  std::string heading, detail;
};
// `replicas`: the number of replicas that both sides have.
GroupText text_of(const ChangeGroup& group, int replicas);

// A name or a value as a part of a line.
std::string shown_name(const std::string& name);

}  // namespace lockstep
