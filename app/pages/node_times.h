// SPDX-License-Identifier: Apache-2.0
// The measured times of nodes, from a trace (docs/traces.md).
#pragma once

#include <string>
#include <unordered_map>

#include "app/trace/run_facts.h"

namespace lockstep {

struct NodeTimes {
  std::unordered_map<std::string, double> micros;  // by name: the median over the traced runs
  int steps = 0;
};

// Of the runs of one program: tests between the steps of a training run have nodes of the same
// names. `text`: a trace, `name`: its file, for errors. The parts of one node in a step are added.
// A kernel that computes several nodes has the name of one of them. Throws if the text is no trace,
// or has no whole run of the program.
NodeTimes node_times(const std::string& text, const std::string& name, RunProgram program);

}  // namespace lockstep
