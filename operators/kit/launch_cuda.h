// SPDX-License-Identifier: Apache-2.0
// Kernel launches. Tests replace this file with one that runs kernels on the host
// (tests/emulated_gpu).
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "lockstep/device.h"
#include "runtime/cuda/check.h"

namespace lockstep {

// Marks a read or write of `bytes` bytes at once; the emulation checks the address.
__device__ inline void expect_aligned(const void*, std::size_t) {}

// Launches blocks of `threads` threads without barriers.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 blocks, int threads, cudaStream_t stream,
            const Arguments&... arguments) {
  kernel<<<blocks, static_cast<unsigned>(threads), 0, stream>>>(arguments...);
  check_cuda(cudaGetLastError(), "a kernel");
}

// Launches blocks of threads that use barriers.
template <class... Parameters, class... Arguments>
void launch_blocks(void (*kernel)(Parameters...), dim3 blocks, int threads, cudaStream_t stream,
                   const Arguments&... arguments) {
  launch(kernel, blocks, threads, stream, arguments...);
}

// The number of blocks of `threads` threads that the whole device can hold at once. An absent
// device, for which a plan is made, counts as an H100.
template <class... Parameters>
int64_t blocks_held(Device device, void (*kernel)(Parameters...), int threads) {
  int devices = 0, processors = 132, of_each = 3;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || device.index >= devices) {
    cudaGetLastError();  // clears the error, which the next launch would report
  } else {
    check_cuda(cudaSetDevice(device.index), "choosing a device");
    check_cuda(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device.index),
               "a device's multiprocessors");
    check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                   &of_each, reinterpret_cast<const void*>(kernel), threads, 0),
               "a kernel's blocks");
  }
  return int64_t{processors} * of_each;
}

}  // namespace lockstep
