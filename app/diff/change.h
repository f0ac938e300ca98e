// SPDX-License-Identifier: Apache-2.0
// A difference between two things that `lockstep diff` compares.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

// The compared parts, in the order in which they are listed.
enum class DiffPart {
  configuration,
  model,  // replicas, states, inputs, losses, metrics, bindings
  inference,
  init,
  step,
  buckets,
  metadata,
  plan,
  weights,
  results  // the numbers of two runs
};
std::string_view name_of(DiffPart part);

// For all kinds but the first two, both sides have the item.
enum class DiffKind { only_in_a, only_in_b, changed, renamed, moved };
std::string_view name_of(DiffKind kind);

// One difference. Names are as in the file, without the scope of a replica, and may contain any
// bytes.
struct Change {
  DiffPart part{};
  DiffKind kind = DiffKind::changed;
  std::string of = {};    // the sort of item: a node's operator, or "state", "key", ..
  std::string name = {};  // of the item
  std::string what = {};  // the aspect that differs: "attribute momentum"; "" for the whole item
  std::string a = {}, b = {};  // the values of the two sides
  std::string note = {};       // more about the difference, for people
  int replica = -1;            // of the item; -1: of none
  bool is_node = false;
};
using Changes = std::vector<Change>;

// States of b by the names of their partners in a; a state keeps its name, or is found by its place
// in the step.
using StatePartners = std::map<std::string, std::string>;

}  // namespace lockstep
