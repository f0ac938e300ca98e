// SPDX-License-Identifier: Apache-2.0
// The best options of a step for a cluster, among the options that the builder really has.
#pragma once

#include <string>
#include <vector>

#include "app/simulate/step_simulation.h"

namespace lockstep {

struct ScoredChoice {
  ReduceChoice choice;
  SimulatedStep step;
};

struct SearchResult {
  ScoredChoice best;                  // with any wire
  ScoredChoice exact;                 // the best that sends whole float32 values
  std::vector<ScoredChoice> by_spec;  // the best of each algorithm, fastest first
  int tried = 0;
  bool fits = true;  // in DEVICE.MEMORY; if not, with the most micro-batches
};

// Tries every algorithm that sums, with one and with the most shards, packings, wires and numbers
// of micro-batches. Micro-batches are as few as memory allows: each costs time.
SearchResult search_choices(const ReplicaStep& step, const Cluster& cluster);

// The buckets of a choice as the text that `--buckets` reads. Comments begin it: the times, and the
// lines of found_command().
std::string bucket_file(const ReplicaStep& step, const Cluster& cluster, const ScoredChoice& best,
                        const std::vector<std::string>& command);
// "--all-reduce xring --packing ready:1M:25M --wire bfloat16 TRAIN.MICRO_BATCHES 2"
std::string words_of(const ReduceChoice& choice);

}  // namespace lockstep
