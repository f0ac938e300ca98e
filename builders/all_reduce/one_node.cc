// Algorithms that are one AllReduce node: its kernel sums over the replicas of a process, then over
// processes.
#include "builders/all_reduce/algorithm.h"

namespace lockstep {
namespace {

double seconds_of_one_node(const Costs& costs) {
  const double local = costs.per_process() > 1 ? costs.shared_memory() : 0;
  return costs.processes() == 1 ? local : 2 * local + costs.gather_across(costs.processes());
}

}  // namespace

AllReduceAlgorithm collective() {
  return {.name = "collective",
          .what = "one AllReduce node; terms are added in replica order",
          .seconds = seconds_of_one_node,
          .auto_shards = [](int, int) -> int64_t { return 1; }};
}

AllReduceAlgorithm nccl() {
  return {.name = "nccl",
          .what = "one AllReduce node; NCCL chooses the order on GPUs",
          .order = SumOrder::any,
          .seconds = seconds_of_one_node};
}

}  // namespace lockstep
