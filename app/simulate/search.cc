// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/search.h"

#include <algorithm>
#include <cmath>

#include "app/format.h"
#include "builders/all_reduce/algorithm.h"
#include "graph/printable.h"
#include "lockstep/error.h"
#include "operators/collective/collective.h"

namespace lockstep {
namespace {

constexpr int64_t kMebi = 1 << 20;

std::vector<AllReduceRange> candidate_ranges(const Cluster& cluster) {
  std::vector<AllReduceRange> all;
  const int devices = cluster.all_devices(), processes = cluster.all_processes();
  for (const AllReduceAlgorithm& algorithm : all_reduce_algorithms()) {
    if (!algorithm.sums) continue;
    // Subdivisions of a single node only add latency.
    const bool has_shards = algorithm.most_shards && !algorithm.is_one_node();
    const int64_t most = has_shards ? algorithm.most_shards(devices, processes) : 1;
    all.push_back({algorithm.name, 1});
    if (most > 1) all.push_back({algorithm.name, most});
  }
  return all;
}

std::vector<Packing> candidate_packings(const ReplicaStep& step) {
  std::vector<Packing> all{{}};
  const double whole = step.gradient_bytes();
  for (const int64_t first : {kMebi / 4, kMebi, 4 * kMebi})
    for (const int64_t cap :
         {kMebi, 4 * kMebi, 10 * kMebi, 25 * kMebi, 50 * kMebi, 100 * kMebi, 400 * kMebi})
      if (cap >= first && static_cast<double>(cap) < 2 * whole + kMebi)
        all.push_back({PackingRule::ready, cap, 0, first});
  // One bucket for all.
  const auto all_bytes = static_cast<int64_t>(whole) + 1;
  all.push_back({PackingRule::ready, all_bytes, 0, all_bytes});
  return all;
}

// As few as memory allows, and no fewer than the step has, so that each has an example.
struct MicroBatches {
  int number;
  bool fit;
};
MicroBatches fewest_micro_batches(const StepSimulator& simulator, const ReplicaStep& step,
                                  const Cluster& cluster) {
  int number = step.micro_batches;
  const auto fits = [&] {
    return cluster.memory <= 0 || simulator.memory(number) <= cluster.memory;
  };
  while (!fits() && 2 * number <= step.examples) number *= 2;
  return {number, fits()};
}

// Algorithms with equal times: fewer messages first, and then the order of the builder's table.
bool is_better(const ScoredChoice& a, const ScoredChoice& b) {
  constexpr double kEqual = 1e-9;
  if (std::abs(a.step.seconds - b.step.seconds) > kEqual * b.step.seconds)
    return a.step.seconds < b.step.seconds;
  return a.step.messages < b.step.messages;
}

}  // namespace

SearchResult search_choices(const ReplicaStep& step, const Cluster& cluster) {
  check(cluster.all_devices() > 1,
        "a search for the best all-reduce needs a cluster of several devices (", Key{"HOSTS"}, ", ",
        Key{"DEVICES"}, ")");
  check(!step.gradients.empty(), "the step has no gradients that are summed over replicas");
  StepSimulator simulator(step, cluster);
  SearchResult found;
  const MicroBatches parts = fewest_micro_batches(simulator, step, cluster);
  found.fits = parts.fit;
  const std::vector<Packing> packings = candidate_packings(step);
  const auto take = [](ScoredChoice& best, const ScoredChoice& other) {
    if (best.step.seconds == 0 || is_better(other, best)) best = other;
  };
  for (const AllReduceRange& range : candidate_ranges(cluster)) {
    ScoredChoice of_range;
    for (const Packing& packing : packings)
      for (const DType wire : {DType::undefined, DType::bfloat16}) {
        ScoredChoice one{{.spec = {.ranges = {range}},
                          .packing = packing,
                          .wire = wire,
                          .micro_batches = parts.number},
                         {}};
        one.step = simulator.alike(one.choice);
        ++found.tried;
        if (wire == DType::undefined) take(found.exact, one);
        take(of_range, one);
      }
    take(found.best, of_range);
    found.by_spec.push_back(of_range);
  }
  std::ranges::stable_sort(found.by_spec, is_better);
  return found;
}

std::string words_of(const ReduceChoice& choice) {
  std::string words = "--all-reduce " + text_of(choice.spec);
  if (choice.wire != DType::undefined) words += " --wire " + text_of_wire(choice.wire);
  if (choice.micro_batches > 1) words += join(" TRAIN.MICRO_BATCHES ", choice.micro_batches);
  return words;
}

std::string bucket_file(const ReplicaStep& step, const Cluster& cluster, const ScoredChoice& best,
                        const std::vector<std::string>& command) {
  const std::vector<GradientSize> sizes = step.sizes();
  std::string text = join("# by lockstep simulate, for ", cluster.all_devices(), " devices of ",
                          printable(cluster.name), ": ", fixed(1e3 * best.step.seconds, 3),
                          " ms a step, of which ", fixed(1e3 * best.step.exposed, 3),
                          " ms are exposed communication\n");
  for (const std::string& line : command) text += join("# ", printable(line), "\n");
  return text + text_of(best.choice.buckets_of(step), sizes);
}

}  // namespace lockstep
