// Sums over replicas by every algorithm, on any devices.
#pragma once

#include <string>
#include <vector>

#include "graph/training.h"
#include "runtime/session.h"

namespace lockstep::testing {

extern const std::vector<std::string> kAlgorithms;

// A model of nothing but one sum over replicas.
TrainingModel sum_model(const std::string& spec, int replicas, int64_t length,
                        const std::string& wire = "");

struct SumRun {
  int first = 0;  // of all replicas, the one that is the model's replica 0
  int64_t length = 0;
  Comm* comm = nullptr;
  std::vector<Device> devices = {};                   // none: CPU replicas
  const std::vector<KernelTable>* kernels = nullptr;  // null: those of this build
};
// The sums on each replica; expects that another run gives the same.
std::vector<std::vector<float>> sums_of(const TrainingModel& part, const SumRun& run);

}  // namespace lockstep::testing
