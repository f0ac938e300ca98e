// SPDX-License-Identifier: Apache-2.0
// The list of GPU kernels.
#pragma once

#include <string>
#include <vector>

#include "operators/conv/gpu_properties.h"
#include "runtime/kernel/table.h"

namespace lockstep {

// One table, or none if this build has no GPU kernels (no_cuda.cc). With `planned`, for plans for
// that GPU, which need not be here: cuDNN is asked for its engines, and nothing can run.
std::vector<KernelTable> cuda_kernels(const GpuProperties* planned = nullptr);

// all_kernels(), with GPU kernels for plans for that GPU.
std::vector<KernelTable> kernels_planned_for(const GpuProperties& gpu);

// The first GPU's properties, for a file that gpu_named() reads; throws if there is none.
std::string gpu_properties_here();
// Why there is none; "" if there is one.
std::string why_no_gpu_here();

// A library that its kernels load on first use.
struct GpuLibrary {
  std::string name, file, purpose;
  bool found;
};
std::vector<GpuLibrary> gpu_libraries();

}  // namespace lockstep
