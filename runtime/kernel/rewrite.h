// SPDX-License-Identifier: Apache-2.0
// Rewrites of a bound graph for a kind of device. A fusion replaces several nodes by one node that
// the device has a kernel for. A rewrite may also keep values for the plan's next run.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "lockstep/tensor.h"
#include "lockstep/training_model.h"

namespace lockstep {

// Names and properties of a graph that a rewrite must respect.
struct RewriteContext {
  std::set<std::string> values;       // read after a run
  std::vector<Binding> updates = {};  // state := value, done by the end of a run
  // Layouts of tiled filters, by value; empty before layouts are chosen.
  std::map<std::string, Layout> filter_layouts = {};
  std::set<std::string> states = {};  // inputs that are not fed
  bool exact = false;                 // see KernelRequest
  bool one_memory = false;            // true if replicas may write each other's memory
};

struct Rewritten {
  Graph graph;
  std::vector<Value> moved;        // each old value's new number; none: dropped
  std::vector<std::string> notes;  // actions and reasons, for the plan dump
  // Values that the plan keeps: the next run reads `value` from `state`. The node that makes
  // `state` reads only states, and runs only after other code than the plan has changed them.
  std::vector<Binding> kept = {};
};
Rewritten unchanged(Graph graph);

// Composes the `moved` lists of two rewrites.
std::vector<Value> moved_on(std::vector<Value> first, const std::vector<Value>& second);

}  // namespace lockstep
