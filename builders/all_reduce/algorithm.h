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

// The options of one use of an algorithm.
struct AlgorithmUse {
  int processes = 1;            // with equal numbers of replicas, in order
  int64_t shards = 1;           // shards_of()
  int64_t turn = 0;             // number of tensors summed before
  std::vector<int> ring_order;  // a process's replicas
  // Auxiliary devices, round-robin over the processes. They gather instead of replicas.
  std::vector<int> auxiliaries = {};
};

// Sums one piece of the tensor on each of `use.shards` gatherers. Gatherers are chosen from the
// auxiliary devices or, without auxiliary devices, from `replicas`. They rotate with `use.turn`.
std::vector<Value> sum_by_turns(const Terms& whole, const AlgorithmUse& use,
                                const std::vector<int>& replicas);

struct AllReduceAlgorithm {
  std::string name;
  std::string what;  // one line for `lockstep build --help` and docs
  // Adds the algorithm's nodes to the graph of all replicas. Empty: a single AllReduce node is the
  // whole algorithm.
  std::function<std::vector<Value>(const Terms&, const AlgorithmUse&)> build = {};
  SumOrder order = SumOrder::replicas;  // order of a single node's sum
  // Predicted time for at least 2 replicas.
  std::function<double(const Costs&)> seconds = {};
  // The largest S of NAME#S. Empty: the algorithm has no shards.
  std::function<int64_t(int replicas, int processes)> most_shards = {};
  // The default S of NAME without #S. Empty: 1.
  std::function<int64_t(int processes)> usual_shards = {};
  // The number of shards that `auto` considers; 0: `auto` does not consider this algorithm.
  std::function<int64_t(int replicas, int processes)> auto_shards = {};
  bool sums = true;      // false: results are the operands, unsummed
  bool gathers = false;  // some replicas or auxiliary devices sum for all

  bool is_one_node() const { return !build; }
};

// The table of algorithms. A new algorithm needs a function that returns its record, and a line in
// algorithms.cc.
const std::vector<AllReduceAlgorithm>& all_reduce_algorithms();
// Throws for an unknown name. The error suggests the nearest name and lists all names.
const AllReduceAlgorithm& algorithm_named(const std::string& name);
// The range's S, or its algorithm's default S.
int64_t shards_of(const AllReduceRange& range, int processes);
// Returns "collective#S, nccl, xring#S, ..", for help texts.
std::string algorithm_names();

}  // namespace lockstep
