// SPDX-License-Identifier: Apache-2.0
// The list of GPU kernels.
#pragma once

#include <string>
#include <vector>

#include "lockstep/kernel.h"
#include "operators/conv/gpu_properties.h"

namespace lockstep {

// One table, or none if this build has no GPU kernels (no_cuda.cc). With `planned`, the table
// serves plans for a GPU that may be absent: cuDNN lists engines for the GPU's properties, and
// nothing can run.
std::vector<KernelTable> cuda_kernels(const GpuProperties* planned = nullptr);

// all_kernels(), with the GPU kernels planned for `gpu`.
std::vector<KernelTable> kernels_planned_for(const GpuProperties& gpu);

// The first GPU's properties, as text for a file that gpu_named() reads; throws if there is no GPU.
std::string gpu_properties_here();
// The reason why no GPU can be used; "" if there is a GPU.
std::string why_no_gpu_here();

// A library that the GPU kernels load on first use.
struct GpuLibrary {
  std::string name, file, purpose;
  bool found;
};
std::vector<GpuLibrary> gpu_libraries();

}  // namespace lockstep
