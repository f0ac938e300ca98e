// SPDX-License-Identifier: Apache-2.0
// compile(): turns a graph and the shapes of one batch into a Plan.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "graph/passes/share.h"
#include "lockstep/processes.h"
#include "lockstep/session_options.h"
#include "lockstep/training_model.h"
#include "runtime/plan/plan.h"

namespace lockstep {

// Callers name the members: compile({.graph = graph, .devices = .., .kernels = ..}).
struct CompileRequest {
  const Graph& graph;
  std::vector<std::string> feeds = {};    // inputs that are fed, in the order of Plan::feeds
  std::vector<Dims> feed_dims = {};       // their shapes
  std::vector<std::string> fetches = {};  // values to read after a run
  std::vector<std::string> states = {};   // of the session; Plan::states begins with them
  std::vector<Binding> updates = {};      // state := value, done by the end of the step
  std::vector<Device> devices = {};       // by replica
  const std::vector<KernelTable>& kernels;
  CompileOptions options = {};
  Comm* comm = nullptr;                    // to other processes
  Owners owners = {};                      // of feeds and states; by default the users' replicas
  std::vector<Layout> state_layouts = {};  // of each state's memory; empty: all are row-major
  // true: the plan may choose other layouts of states, which Plan::state_descs has.
  bool chooses_state_layouts = false;
  // false: the plan is only looked at, so all its values together may need more memory than is
  // free. No single value may.
  bool limits_memory = true;
  // Values that replicas in host memory may share (Plan::shared).
  InCommon common = {};
};

Plan compile(const CompileRequest& request);

bool in_host_memory(const CompileRequest& request);

// The request that a session makes for a model's step; `dims`: the shape of each feed.
CompileRequest step_request(const TrainingModel& model,
                            const std::function<Dims(const std::string& feed)>& dims,
                            std::vector<Device> devices, const std::vector<KernelTable>& kernels,
                            const CompileOptions& options = {});

}  // namespace lockstep
