// SPDX-License-Identifier: Apache-2.0
// Conversion of CUDA's errors to ours.
#pragma once

#include <cuda_runtime_api.h>

#include "lockstep/error.h"

namespace lockstep {

inline void check_cuda(cudaError_t status, const char* what) {
  if (status != cudaSuccess)
    fail("CUDA: ", what, ": ", cudaGetErrorString(status), " (", cudaGetErrorName(status), ")");
}

}  // namespace lockstep
