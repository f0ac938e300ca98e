// Kernel launches. Tests replace this file with one that runs kernels on the host
// (tests/emulated_gpu).
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "runtime/cuda/check.h"

namespace lockstep {

// Where a kernel reads or writes so many bytes at once; the emulation checks their place.
__device__ inline void expect_aligned(const void*, std::size_t) {}

// `threads` per block, without barriers.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 blocks, int threads, cudaStream_t stream,
            const Arguments&... arguments) {
  kernel<<<blocks, static_cast<unsigned>(threads), 0, stream>>>(arguments...);
  check_cuda(cudaGetLastError(), "a kernel");
}

// The block's threads use barriers.
template <class... Parameters, class... Arguments>
void launch_blocks(void (*kernel)(Parameters...), dim3 blocks, int threads, cudaStream_t stream,
                   const Arguments&... arguments) {
  launch(kernel, blocks, threads, stream, arguments...);
}

}  // namespace lockstep
