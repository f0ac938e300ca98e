// An all-reduce algorithm: its name, the nodes it is made of, and what they should cost.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "builders/all_reduce/cost.h"
#include "builders/all_reduce/pieces.h"
#include "operators/collective/collective.h"

namespace lockstep {

// How often an algorithm was used before, and how it is asked to go about it.
struct AlgorithmUse {
  int processes = 1;  // replicas are shared out over them in order, equally
  int64_t shards = 1;
  int64_t turn = 0;             // how many tensors it summed before
  std::vector<int> ring_order;  // a process's replicas
};

struct AllReduceAlgorithm {
  std::string name;
  std::string what;  // for `lockstep build --help` and docs: a line
  // The nodes, in the graph of all replicas. None: one AllReduce node, whose kernel does it all.
  std::function<std::vector<Value>(const Terms&, const AlgorithmUse&)> build = {};
  SumOrder order = SumOrder::replicas;  // of that one node
  // Predicted time; at least 2 replicas.
  std::function<double(const Costs&)> seconds = {};
  // NAME#S: the largest S. None: the algorithm has no shards.
  std::function<int64_t(int replicas, int processes)> most_shards = {};
  // Whether `auto` considers it, and with how many shards; 0: it does not.
  std::function<int64_t(int replicas, int processes)> auto_shards = {};
  bool sums = true;  // false: results are the operands
  std::string also_called = "";

  bool is_one_node() const { return !build; }
};

// The list. An algorithm is a file with a function that returns it, and a line here.
const std::vector<AllReduceAlgorithm>& all_reduce_algorithms();
// Throws, with the nearest name and all names.
const AllReduceAlgorithm& algorithm_named(const std::string& name);
// "collective, nccl, xring#S, ..": for help texts.
std::string algorithm_names();

}  // namespace lockstep
