// SPDX-License-Identifier: Apache-2.0
// Kernel launches. Tests replace this file with one that runs kernels on the host
// (tests/emulated_gpu).
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "runtime/cuda/check.h"
#include "runtime/device.h"

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

// The blocks of `threads` that the device holds at once, whatever else runs there. A device that is
// not here, for which something is planned, counts as an H100.
template <class... Parameters>
int64_t blocks_held(Device device, void (*kernel)(Parameters...), int threads) {
  int devices = 0, processors = 132, of_each = 3;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || device.index >= devices) {
    cudaGetLastError();  // or the next launch would report it
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
