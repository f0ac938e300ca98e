// SPDX-License-Identifier: Apache-2.0
// What a step could take at best on a machine: its operations at the rate of a large product of
// matrices, its bytes at the rate of a sweep over memory.
#pragma once

#include <vector>

#include "runtime/kernel/table.h"
#include "runtime/plan/compile.h"
#include "runtime/plan/plan.h"

namespace lockstep {

// A second.
struct MachineRates {
  double operations = 0;  // of a product of matrices of this type
  double bytes = 0;       // read and written by a ReLU from one tensor into another
};
// What they are measured on.
struct RateSizes {
  int64_t side;   // of the matrices: enough work for all units
  int64_t sweep;  // floats of the ReLU: beyond any cache
};
RateSizes rate_sizes(DeviceKind kind);
MachineRates measure_rates(const Device& device, DType dtype, const RateSizes& sizes,
                           const std::vector<KernelTable>& kernels, CompileOptions options);

// Multiplications and additions of convolutions, products and recurrent layers, as they are
// defined: Winograd's method does fewer. Of all other operators 0: their bytes take longer.
double operations_of(const Plan& plan, const PlanStep& step);

// Seconds, of the one that takes longer. What a kernel reorders within need not be.
double least_seconds(const Plan& plan, const PlanStep& step, const MachineRates& rates);

}  // namespace lockstep
