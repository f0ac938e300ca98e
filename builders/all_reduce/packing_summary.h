// SPDX-License-Identifier: Apache-2.0
// Sizes of gradients before and after packing, to help a user choose a packing.
#pragma once

#include <string>
#include <vector>

#include "builders/all_reduce/packing.h"
#include "lockstep/training_model.h"

namespace lockstep {

struct SizeStatistics {
  int64_t count = 0;
  double mean = 0;    // bytes
  double median = 0;  // bytes; for an even count, the mean of the two middle sizes
  int64_t total = 0;  // bytes
};
SizeStatistics statistics_of(std::vector<int64_t> sizes);

// Two lines:
//   before packing: 214 gradients, mean 467 KiB, median 2 KiB, total 97.6 MiB
//   after packing: 9 buckets, mean 10.8 MiB, median 11 MiB, total 97.6 MiB
std::vector<std::string> packing_summary(const Buckets& buckets,
                                         const std::vector<GradientSize>& gradients);
// The summary of a model's bucket plan. Returns no lines if the model has no plan or no list of
// gradients, as in files of early versions. Throws if the plan names a gradient that the model does
// not list.
std::vector<std::string> packing_summary(const TrainingModel& model);

}  // namespace lockstep
