// SPDX-License-Identifier: Apache-2.0
// Replaces operators/kit/launch_cuda.h in GPU kernels compiled for the host. The host thread of a
// stream runs the stream's work, one thread of the grid at a time.
#pragma once

#include <cuda_runtime_api.h>
#include <math.h>  // NOLINT: a kernel's functions stand in no namespace

#include <cstddef>
#include <cstdint>
#include <functional>

#include "lockstep/device.h"
#include "runtime/accelerator.h"
#include "runtime/cuda/check.h"

// One copy per host thread, which runs one block at a time.
#undef __shared__
#define __shared__ static thread_local
#undef __launch_bounds__
#define __launch_bounds__(...)

struct GridPlace {
  unsigned x = 0, y = 0, z = 0;
};
extern thread_local GridPlace threadIdx, blockIdx, gridDim, blockDim;
void __syncthreads();

namespace lockstep {

inline void expect_aligned(const void* data, std::size_t bytes) {
  const auto astray = reinterpret_cast<std::uintptr_t>(data) % bytes;
  check(astray == 0, "a kernel accesses ", bytes, " bytes at once, ", astray,
        " bytes behind where it may");
}

namespace testing {
// Both functions run `thread` for every thread of every block, in an order that differs from launch
// to launch. With run_grid_of_meetings(), threads can meet at barriers.
void run_grid(dim3 blocks, int threads, const std::function<void()>& thread);
void run_grid_of_meetings(dim3 blocks, int threads, const std::function<void()>& thread);
}  // namespace testing

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 blocks, int threads, cudaStream_t stream,
            const Arguments&... arguments) {
  check_cuda(cudaGetLastError(), "a kernel");
  reinterpret_cast<Queue*>(stream)->call(
      [=] { testing::run_grid(blocks, threads, [&] { kernel(arguments...); }); });
}

template <class... Parameters, class... Arguments>
void launch_blocks(void (*kernel)(Parameters...), dim3 blocks, int threads, cudaStream_t stream,
                   const Arguments&... arguments) {
  check_cuda(cudaGetLastError(), "a kernel");
  reinterpret_cast<Queue*>(stream)->call(
      [=] { testing::run_grid_of_meetings(blocks, threads, [&] { kernel(arguments...); }); });
}

// Few blocks, so a thread has more than one round of work.
template <class... Parameters>
int64_t blocks_held(Device, void (*)(Parameters...), int) {
  return 3;
}

}  // namespace lockstep
