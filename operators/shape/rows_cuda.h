// SPDX-License-Identifier: Apache-2.0
// Strided copies of rows.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/cuda/check.h"

namespace lockstep {

// Copies `count` rows of `width` bytes; consecutive rows start a pitch apart.
struct RowCopy {
  std::size_t count, width, to_pitch, from_pitch;

  void run(cudaStream_t stream, void* to, const void* from) const {
    constexpr std::size_t kMostPitch = INT32_MAX;  // the limit of a two-dimensional copy
    if (count > 1 && std::max(to_pitch, from_pitch) <= kMostPitch) {
      check_cuda(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, count,
                                   cudaMemcpyDeviceToDevice, stream),
                 "a copy");
      return;
    }
    for (std::size_t row = 0; row < count; ++row)
      check_cuda(cudaMemcpyAsync(static_cast<std::byte*>(to) + row * to_pitch,
                                 static_cast<const std::byte*>(from) + row * from_pitch, width,
                                 cudaMemcpyDeviceToDevice, stream),
                 "a copy");
  }
};

}  // namespace lockstep
