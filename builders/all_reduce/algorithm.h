// SPDX-License-Identifier: Apache-2.0
// An all-reduce algorithm: its name, its nodes and its predicted cost.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "builders/all_reduce/cost.h"
#include "builders/all_reduce/pieces.h"
#include "builders/all_reduce/spec.h"
#include "operators/collective/collective.h"

namespace lockstep {

// An algorithm's options, and how often it was used before.
struct AlgorithmUse {
  int processes = 1;            // replicas are assigned to them in order, equally
  int64_t shards = 1;           // shards_of()
  int64_t turn = 0;             // the number of tensors it summed before
  std::vector<int> ring_order;  // a process's replicas
  // Auxiliary devices, by turns over the processes: they gather instead of replicas.
  std::vector<int> auxiliaries = {};
};

// Each of `use.shards` gatherers sums one piece: of the auxiliary devices or, if there are none, of
// `replicas`. Successive turns use different ones.
std::vector<Value> sum_by_turns(const Terms& whole, const AlgorithmUse& use,
                                const std::vector<int>& replicas);

struct AllReduceAlgorithm {
  std::string name;
  std::string what;  // one line for `lockstep build --help` and docs
  // Adds its nodes to the graph of all replicas. None: a single AllReduce node, whose kernel does
  // all.
  std::function<std::vector<Value>(const Terms&, const AlgorithmUse&)> build = {};
  SumOrder order = SumOrder::replicas;  // of that single node
  // Predicted time for at least 2 replicas.
  std::function<double(const Costs&)> seconds = {};
  // NAME#S: the largest S. None: the algorithm takes no shards.
  std::function<int64_t(int replicas, int processes)> most_shards = {};
  // The S of a NAME without one. None: 1.
  std::function<int64_t(int processes)> usual_shards = {};
  // The number of shards that `auto` considers; 0: `auto` does not consider this algorithm.
  std::function<int64_t(int replicas, int processes)> auto_shards = {};
  bool sums = true;      // false: results are the operands, unsummed
  bool gathers = false;  // some replicas sum for all, or auxiliary devices

  bool is_one_node() const { return !build; }
};

// The table. An algorithm is a file with a function that returns its record, and a line here.
const std::vector<AllReduceAlgorithm>& all_reduce_algorithms();
// Throws for an unknown name, with the nearest one and all names.
const AllReduceAlgorithm& algorithm_named(const std::string& name);
// The range's S, or its algorithm's usual one.
int64_t shards_of(const AllReduceRange& range, int processes);
// "collective#S, nccl, xring#S, ..": for help texts.
std::string algorithm_names();

}  // namespace lockstep
