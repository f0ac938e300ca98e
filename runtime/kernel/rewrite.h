// SPDX-License-Identifier: Apache-2.0
// Rewrites of a bound graph for a kind of device: fusions, which make one node that the device has
// a kernel for of several, and what a plan keeps for its next run.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/training.h"
#include "runtime/layout/layout.h"

namespace lockstep {

// What others know of a graph by name.
struct Known {
  std::set<std::string> values;       // they read these after a run
  std::vector<Binding> updates = {};  // state := value, done by the end of a run
  // Layouts of filters in tiles, by value; empty before layouts are chosen.
  std::map<std::string, Layout> filter_layouts = {};
  std::set<std::string> states = {};  // inputs that are not fed
  bool exact = false;                 // see KernelRequest
  bool one_memory = false;            // any replica may write what others read
};

struct Rewritten {
  Graph graph;
  std::vector<Value> moved;        // each old value's new number; none: dropped
  std::vector<std::string> notes;  // what was done and why, for the plan dump
  // Values that the plan keeps: the next run finds `value` in `state`. The node that makes the
  // latter reads states alone, and runs only where these were changed by others than the plan.
  std::vector<Binding> kept = {};
};
Rewritten unchanged(Graph graph);

// Where values are after two rewrites.
std::vector<Value> moved_on(std::vector<Value> first, const std::vector<Value>& second);

}  // namespace lockstep
