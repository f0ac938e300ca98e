// SPDX-License-Identifier: Apache-2.0
// Algorithms in which some replicas gather whole tensors or pieces, sum them, and send the result
// to all.
#include "builders/all_reduce/algorithm.h"
#include "lockstep/error.h"

namespace lockstep {

std::vector<std::vector<int>> gather_groups(int devices, int64_t size) {
  check(size >= 1 && size <= devices, size, " gather replicas of ", devices, "; ask for 1 to ",
        devices);
  const int64_t count = (devices + size - 1) / size;
  std::vector<std::vector<int>> groups(count);
  for (int64_t i = 0; i < count * size; ++i)
    groups[i % count].push_back(static_cast<int>(i % devices));
  return groups;
}

// Gatherer j sums piece j of every replica. All pieces but the last have floor(length / gatherers)
// elements.
std::vector<Value> sum_by_shuffle(const Terms& whole, const std::vector<int>& gatherers) {
  const std::vector<int64_t> lengths =
      equal_lengths(whole.length, static_cast<int64_t>(gatherers.size()));
  Pieces& pieces = whole.pieces;
  std::vector<std::vector<Value>> parts;
  for (std::size_t k = 0; k < whole.values.size(); ++k)
    parts.push_back(pieces.split(whole.values[k], lengths, whole.replicas[k]));
  std::vector<Value> sums;
  for (std::size_t j = 0; j < gatherers.size(); ++j) {
    std::vector<Value> terms;
    for (std::size_t k = 0; k < parts.size(); ++k)
      terms.push_back(pieces.bring(parts[k][j], whole.replicas[k], gatherers[j]));
    sums.push_back(pieces.sum(terms, gatherers[j], whole.on_host));
  }
  std::vector<Value> results;
  for (int replica : whole.replicas) {
    std::vector<Value> here;
    for (std::size_t j = 0; j < gatherers.size(); ++j)
      here.push_back(pieces.bring(sums[j], gatherers[j], replica));
    results.push_back(pieces.join_pieces(here, replica));
  }
  return results;
}

std::vector<Value> sum_by_turns(const Terms& whole, const AlgorithmUse& use,
                                const std::vector<int>& replicas) {
  const std::vector<int>& may_gather = use.auxiliaries.empty() ? replicas : use.auxiliaries;
  const auto groups = gather_groups(static_cast<int>(may_gather.size()), use.shards);
  std::vector<int> chosen;
  for (int i : groups[use.turn % groups.size()]) chosen.push_back(may_gather[i]);
  return sum_by_shuffle(whole, chosen);
}

namespace {

std::vector<int> first_of_processes(int replicas, int processes) {
  std::vector<int> firsts;
  for (int p = 0; p < processes; ++p) firsts.push_back(p * (replicas / processes));
  return firsts;
}

// The first replica of every process, then the second of every process, ..
std::vector<int> all_by_turns(int replicas, int processes) {
  std::vector<int> gatherers;
  for (int i = 0; i < replicas / processes; ++i)
    for (int first : first_of_processes(replicas, processes)) gatherers.push_back(first + i);
  return gatherers;
}

// One main replica sums the first half of the replicas, another main replica the second half. The
// first main replica adds both sums. The main replicas rotate with the tensors.
std::vector<Value> sum_by_halves(const Terms& whole, int64_t tensor) {
  const auto n = static_cast<int64_t>(whole.values.size());
  const int64_t half = n / 2;
  Pieces& pieces = whole.pieces;
  auto replica = [&](int64_t k) { return whole.replicas[k]; };
  const int mains[2] = {replica(tensor % n), replica((tensor + half) % n)};
  Value sums[2];
  for (int h = 0; h < 2; ++h) {
    std::vector<Value> terms;
    for (int64_t k = h == 0 ? 0 : half; k < (h == 0 ? half : n); ++k)
      terms.push_back(pieces.bring(whole.values[k], replica(k), mains[h]));
    sums[h] = pieces.sum(terms, mains[h]);
  }
  Value total = pieces.sum({sums[0], pieces.bring(sums[1], mains[1], mains[0])}, mains[0]);
  const Value of_half[2] = {total, pieces.bring(total, mains[0], mains[1])};
  std::vector<Value> results;
  for (int64_t k = 0; k < n; ++k) {
    const int h = k < half ? 0 : 1;
    // The main replica of the other half already has the sum.
    if (replica(k) == mains[0])
      results.push_back(of_half[0]);
    else if (replica(k) == mains[1])
      results.push_back(of_half[1]);
    else
      results.push_back(pieces.bring(of_half[h], mains[h], replica(k)));
  }
  return results;
}

double seconds_of_shards(const Costs& costs) { return costs.gather(costs.shards()); }

}  // namespace

AllReduceAlgorithm simple() {
  return {.name = "simple",
          .what = "replica 0 sums all",
          .build = [](const Terms& whole,
                      const AlgorithmUse&) { return sum_by_shuffle(whole, {whole.replicas[0]}); },
          .seconds = [](const Costs& costs) { return costs.gather(1); },
          .auto_shards = [](int, int) -> int64_t { return 1; }};
}

AllReduceAlgorithm pscpu() {
  return {.name = "pscpu",
          .what = "S of the processes' first replicas sum one piece each, on the host's CPU",
          .build =
              [](Terms whole, const AlgorithmUse& use) {
                whole.on_host = true;
                const auto n = static_cast<int>(whole.values.size());
                return sum_by_turns(whole, use, first_of_processes(n, use.processes));
              },
          .seconds = seconds_of_shards,
          .most_shards = [](int, int processes) -> int64_t { return processes; },
          .gathers = true};
}

AllReduceAlgorithm psgpu() {
  return {.name = "psgpu",
          .what = "any S replicas sum one piece each",
          .build =
              [](const Terms& whole, const AlgorithmUse& use) {
                const auto n = static_cast<int>(whole.values.size());
                return sum_by_turns(whole, use, all_by_turns(n, use.processes));
              },
          .seconds = seconds_of_shards,
          .most_shards = [](int replicas, int) -> int64_t { return replicas; },
          .auto_shards = [](int replicas, int) -> int64_t { return replicas; },
          .gathers = true};
}

AllReduceAlgorithm hierarchical_copy() {
  return {.name = "hierarchical_copy",
          .what = "each half of the replicas is summed on one replica, then both sums are added",
          .build = [](const Terms& whole,
                      const AlgorithmUse& use) { return sum_by_halves(whole, use.turn); },
          .seconds = [](const Costs& costs) { return costs.gather(2); }};
}

}  // namespace lockstep
