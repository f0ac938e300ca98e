// SPDX-License-Identifier: Apache-2.0
#include "operators/cuda.h"

#include "lockstep/error.h"

namespace lockstep {

std::vector<KernelTable> cuda_kernels(const GpuProperties*) { return {}; }
std::string gpu_properties_here() { fail("this build has no GPU kernels"); }
std::string why_no_gpu_here() { return "this build has no GPU kernels"; }
std::vector<GpuLibrary> gpu_libraries() { return {}; }

}  // namespace lockstep
