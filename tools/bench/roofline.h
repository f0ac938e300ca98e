// SPDX-License-Identifier: Apache-2.0
// The best time of a step on a machine: its operations at the rate of a large matrix product, its
// bytes at the rate of a sweep over memory.
#pragma once

#include <vector>

#include "lockstep/kernel.h"
#include "lockstep/session_options.h"
#include "runtime/plan/compile.h"
#include "runtime/plan/plan.h"

namespace lockstep {

// Rates per second.
struct MachineRates {
  double operations = 0;  // of a matrix product of this type
  double bytes = 0;       // read and written by a ReLU from one tensor into another
};
// Sizes of the measurements.
struct RateSizes {
  int64_t side;   // of the matrices: enough work for all units
  int64_t sweep;  // floats of the ReLU: beyond any cache
};
RateSizes rate_sizes(DeviceKind kind);
MachineRates measure_rates(const Device& device, DType dtype, const RateSizes& sizes,
                           const std::vector<KernelTable>& kernels, CompileOptions options);

// Seconds for the products of a step or for its bytes, whichever take longer. For other operations
// the bytes take longer; reordering within a kernel does not count.
double least_seconds(const Plan& plan, const PlanStep& step, const MachineRates& rates);

}  // namespace lockstep
