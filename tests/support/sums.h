// SPDX-License-Identifier: Apache-2.0
// Sums over replicas by every algorithm, on any devices.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "builders/all_reduce/all_reduce.h"
#include "lockstep/processes.h"
#include "lockstep/session.h"
#include "lockstep/training_model.h"

namespace lockstep::testing {

extern const std::vector<std::string> kAlgorithms;

// A graph that only sums tensors of these shapes over replicas cpu_k. Each replica first negates
// its tensors, so each term is computed on its own replica.
struct SumGraph {
  Graph graph;
  std::vector<std::string> feeds, sums;  // ordered by tensor, then by replica
  std::string bucket_plan;
};
SumGraph sum_graph(const AllReduceOptions& options, int replicas, const std::vector<Dims>& shapes);

// A model with a single sum over replicas.
TrainingModel sum_model(const AllReduceOptions& options, int replicas, int64_t length);
TrainingModel sum_model(const std::string& spec, int replicas, int64_t length,
                        const std::string& wire = "");

// True if the algorithm has one node for the sums within a process. Over processes it then adds in
// another order than within one process. If its name begins with nccl, several GPUs add in NCCL's
// order.
bool sums_within_first(const std::string& spec);

struct SumRun {
  int first = 0;  // the index of the model's replica 0 among all replicas
  int64_t length = 0;
  Comm* comm = nullptr;
  std::vector<Device> devices = {};                   // none: CPU replicas
  const std::vector<KernelTable>* kernels = nullptr;  // null: the kernels of this build
  bool whole_numbers = false;                         // small numbers with exact sums in 16 bits
};
// A replica's term, before the negation.
std::vector<float> term_of(int replica, int64_t length, bool whole_numbers = false);
// Runs body(rank, comm) for each of several processes, as threads. A single process gets rank 0 and
// null.
void over_processes(int processes, const std::function<void(int rank, Comm* comm)>& body);
// Returns the sums on each replica. Expects a second run to give the same sums.
std::vector<std::vector<float>> sums_of(const TrainingModel& part, const SumRun& run);

struct NaiveSum {
  int replicas = 1;  // of all processes
  std::string wire = "";
  bool mean = false;
};
// Expects exact sums of small whole numbers. Other sums are within the rounding of the wire format.
void expect_naive_sums(const TrainingModel& part, const NaiveSum& naive, SumRun run);

}  // namespace lockstep::testing
