// SPDX-License-Identifier: Apache-2.0
// Sums over replicas by every algorithm, on any devices.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "builders/all_reduce/all_reduce.h"
#include "graph/training.h"
#include "runtime/state/session.h"

namespace lockstep::testing {

extern const std::vector<std::string> kAlgorithms;

// A graph that only sums over replicas cpu_k: tensors of these shapes, negated first, so that each
// is made on its own replica.
struct SumGraph {
  Graph graph;
  std::vector<std::string> feeds, sums;  // tensor by tensor, replicas inside
  std::string bucket_plan;
};
SumGraph sum_graph(const AllReduceOptions& options, int replicas, const std::vector<Dims>& shapes);

// A model with only one sum over replicas.
TrainingModel sum_model(const AllReduceOptions& options, int replicas, int64_t length);
TrainingModel sum_model(const std::string& spec, int replicas, int64_t length,
                        const std::string& wire = "");

// True if the algorithm has one node for the sums within a process: over processes it adds in
// another order than in one, and on several GPUs in NCCL's if the name begins with nccl.
bool sums_within_first(const std::string& spec);

struct SumRun {
  int first = 0;  // the model's replica 0, as a number among all replicas
  int64_t length = 0;
  Comm* comm = nullptr;
  std::vector<Device> devices = {};                   // none: CPU replicas
  const std::vector<KernelTable>* kernels = nullptr;  // null: this build's
  bool whole_numbers = false;                         // small ones, whose sums 16 bits hold
};
// The term of a replica, before it is negated.
std::vector<float> term_of(int replica, int64_t length, bool whole_numbers = false);
// body(rank, comm) for each of several processes, as threads; for one with rank 0 and null.
void over_processes(int processes, const std::function<void(int rank, Comm* comm)>& body);
// The sums on each replica; expects another run to give the same.
std::vector<std::vector<float>> sums_of(const TrainingModel& part, const SumRun& run);

struct NaiveSum {
  int replicas = 1;  // of all processes
  std::string wire = "";
  bool mean = false;
};
// Expects exact sums of small whole numbers, and sums of others within the rounding of the wire.
void expect_naive_sums(const TrainingModel& part, const NaiveSum& naive, SumRun run);

}  // namespace lockstep::testing
