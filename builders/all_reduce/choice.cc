// SPDX-License-Identifier: Apache-2.0
#include "builders/all_reduce/choice.h"

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <vector>

#include "builders/all_reduce/algorithm.h"

namespace lockstep {

double predicted_seconds(const AllReduceRange& range, const Topology& topology, int replicas,
                         int processes, double bytes) {
  const AllReduceAlgorithm& algorithm = algorithm_named(range.algorithm);
  if (replicas == 1) return 0;
  return algorithm.seconds(Costs(
      topology, {replicas, processes, bytes, static_cast<double>(shards_of(range, processes))}));
}

Choice choose_algorithm(const Topology& topology, int replicas, int processes, double bytes) {
  struct Candidate {
    AllReduceRange range;
    double seconds;
  };
  std::vector<Candidate> candidates;
  for (const AllReduceAlgorithm& algorithm : all_reduce_algorithms()) {
    const int64_t shards = algorithm.auto_shards ? algorithm.auto_shards(replicas, processes) : 0;
    if (shards == 0) continue;
    const AllReduceRange range{algorithm.name, shards};
    candidates.push_back({range, predicted_seconds(range, topology, replicas, processes, bytes)});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  std::ostringstream why;
  why << std::setprecision(3);
  for (std::size_t i = 0; i < candidates.size(); ++i)
    why << (i == 0   ? ""
            : i == 1 ? "; "
                     : ", ")
        << text_of(candidates[i].range) << " " << candidates[i].seconds * 1e3
        << (i == 0 ? " ms" : "");
  return {candidates[0].range, why.str()};
}

}  // namespace lockstep
