// SPDX-License-Identifier: Apache-2.0
// Algorithms LOCAL/CROSS: each process sums over its replicas, then the first replicas of all
// processes sum by another algorithm. The result goes back to all replicas.
#include <functional>

#include "builders/all_reduce/algorithm.h"
#include "operators/collective/collective.h"

namespace lockstep {
namespace {

// The first level.
struct Local {
  std::string name, what;
  // The sum of a process's terms, on its first replica.
  Value (*sum)(const Terms& own);
  // Sends the first replica's value to all replicas of the process.
  std::vector<Value> (*back)(const Terms& own, Value sum);
  // The sum on all replicas, for a single process, which has no second level.
  std::vector<Value> (*both)(const Terms& own);
  double (*seconds)(const Costs& costs);
  bool in_auto = false;  // `auto` considers this first level
};

// Sums over the first replicas of at least 2 processes.
struct Cross {
  std::string name;
  std::function<std::vector<Value>(const Terms& firsts, const AlgorithmUse& use)> sum;
  double (*seconds)(const Costs& costs);
  bool in_auto = false;  // `auto` considers this second level
  bool takes_shards = false;
};

// Sums in float32, as `collective` does within a process. Only values sent between processes are
// narrowed.
Value sum_together(const Terms& own) {
  return own.pieces.sum_together(own.values, own.replicas)[0];
}
std::vector<Value> back_together(const Terms& own, Value sum) {
  return own.pieces.broadcast(sum, own.replicas);
}

std::vector<Value> both_together(const Terms& own) {
  return own.pieces.sum_together(own.values, own.replicas, own.pieces.wire());
}

Value sum_on_first(const Terms& own) {
  std::vector<Value> terms;
  for (std::size_t k = 0; k < own.values.size(); ++k)
    terms.push_back(own.pieces.bring(own.values[k], own.replicas[k], own.replicas[0]));
  return own.pieces.sum(terms, own.replicas[0], /*on_host=*/true);
}
std::vector<Value> back_by_copies(const Terms& own, Value sum) {
  std::vector<Value> copies;
  for (int replica : own.replicas)
    copies.push_back(own.pieces.bring(sum, own.replicas[0], replica));
  return copies;
}
std::vector<Value> both_by_copies(const Terms& own) {
  return back_by_copies(own, sum_on_first(own));
}

std::vector<Value> sum_in_levels(const Terms& whole, const AlgorithmUse& use, const Local& local,
                                 const Cross& cross) {
  if (use.processes == 1) return local.both(whole);
  const auto per_process = static_cast<std::ptrdiff_t>(whole.values.size()) / use.processes;
  std::vector<Terms> own;
  Terms firsts{whole.pieces, {}, {}, whole.length};
  for (int process = 0; process < use.processes; ++process) {
    const auto begin = process * per_process, end = begin + per_process;
    own.push_back({whole.pieces,
                   {whole.values.begin() + begin, whole.values.begin() + end},
                   {whole.replicas.begin() + begin, whole.replicas.begin() + end},
                   whole.length});
    firsts.values.push_back(per_process > 1 ? local.sum(own.back()) : own.back().values[0]);
    firsts.replicas.push_back(own.back().replicas[0]);
  }
  const std::vector<Value> sums = cross.sum(firsts, use);
  if (per_process == 1) return sums;
  std::vector<Value> results;
  for (std::size_t process = 0; process < own.size(); ++process)
    for (Value result : local.back(own[process], sums[process])) results.push_back(result);
  return results;
}

AllReduceAlgorithm in_levels(const Local& local, const Cross& cross) {
  AllReduceAlgorithm algorithm{
      .name = local.name + "/" + cross.name,
      .what = "within each process " + local.what + ", across processes by " + cross.name,
      .build = [local, cross](
                   const Terms& whole,
                   const AlgorithmUse& use) { return sum_in_levels(whole, use, local, cross); },
      .seconds =
          [local, cross](const Costs& costs) {
            const double here = costs.per_process() > 1 ? local.seconds(costs) : 0;
            return costs.processes() == 1 ? here : here + cross.seconds(costs);
          },
      .auto_shards = [in_auto = local.in_auto && cross.in_auto](int replicas, int processes)
          -> int64_t { return in_auto && processes > 1 && replicas > processes ? 1 : 0; }};
  if (!cross.takes_shards) return algorithm;
  algorithm.gathers = true;
  algorithm.most_shards = [](int, int processes) -> int64_t { return processes; };
  algorithm.usual_shards = [](int processes) -> int64_t { return processes; };
  return algorithm;
}

std::vector<Value> gather_on_hosts(Terms firsts, const AlgorithmUse& use) {
  firsts.on_host = true;
  return sum_by_turns(firsts, use, firsts.replicas);
}

}  // namespace

std::vector<AllReduceAlgorithm> algorithms_in_levels() {
  const Local locals[] = {
      {.name = "nccl",
       .what = "by one AllReduce node",
       .sum = sum_together,
       .back = back_together,
       .both = both_together,
       .seconds =
           [](const Costs& costs) {
             return costs.shared_memory() + (costs.processes() > 1 ? costs.from_first() : 0);
           },
       .in_auto = true},
      {.name = "pscpu",
       .what = "on its first replica, on the host's CPU",
       .sum = sum_on_first,
       .back = back_by_copies,
       .both = both_by_copies,
       .seconds = [](const Costs& costs) { return costs.to_first_and_back(); }}};
  const Cross crosses[] = {
      {.name = "rechd",
       .sum = [](const Terms& firsts, const AlgorithmUse&) { return sum_by_halving(firsts); },
       .seconds =
           [](const Costs& costs) { return costs.halving(costs.across(), costs.processes()); },
       .in_auto = true},
      {.name = "xring",
       .sum = [](const Terms& firsts,
                 const AlgorithmUse& use) { return sum_by_ring(firsts, use.processes, 1, {0}); },
       .seconds = [](const Costs& costs) { return costs.ring(costs.across(), costs.processes()); },
       .in_auto = true},
      {.name = "pscpu",
       .sum = gather_on_hosts,
       .seconds = [](const Costs& costs) { return costs.gather_across(costs.shards()); },
       .takes_shards = true}};
  std::vector<AllReduceAlgorithm> all;
  for (const Local& local : locals)
    for (const Cross& cross : crosses) all.push_back(in_levels(local, cross));
  return all;
}

}  // namespace lockstep
