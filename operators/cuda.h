// The list of GPU kernels.
#pragma once

#include <string>
#include <vector>

#include "runtime/kernel_table.h"

namespace lockstep {

// One table, or none if this build has no GPU kernels (no_cuda.cc).
std::vector<KernelTable> cuda_kernels();

// A library that its kernels load on first use.
struct GpuLibrary {
  std::string name, file, purpose;
  bool found;
};
std::vector<GpuLibrary> gpu_libraries();

}  // namespace lockstep
