// SPDX-License-Identifier: Apache-2.0
// Algorithms that are one AllReduce node, or one node for each of S subdivisions of the tensor. The
// node's kernel sums over the replicas of a process, then over processes.
#include "builders/all_reduce/algorithm.h"

#include "operators/collective/collective.h"

namespace lockstep {
namespace {

double seconds_of_one_node(const Costs& costs) {
  const bool here = costs.per_process() > 1, across = costs.processes() > 1;
  const double local = here ? costs.shared_memory() : 0;
  const double one = across ? 2 * local + costs.gather_across(costs.processes()) : local;
  // Subdivisions move no more bytes, but each subdivision has its own messages.
  const double latency = (here ? (across ? 4 : 2) * costs.within().latency : 0) +
                         (across ? 2 * (costs.processes() - 1) * costs.across().latency : 0);
  return one + (costs.shards() - 1) * latency;
}

constexpr int64_t kMostSubdivisions = 1024;

}  // namespace

AllReduceAlgorithm collective() {
  return {.name = "collective",
          .what = "an AllReduce node for each of S subdivisions; terms are added in replica order",
          .seconds = seconds_of_one_node,
          .most_shards = [](int, int) { return kMostSubdivisions; },
          .auto_shards = [](int, int) -> int64_t { return 1; }};
}

AllReduceAlgorithm nccl() {
  return {.name = "nccl",
          .what = "one AllReduce node; NCCL chooses the order on GPUs",
          .order = SumOrder::any,
          .seconds = seconds_of_one_node};
}

}  // namespace lockstep
