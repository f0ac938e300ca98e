// SPDX-License-Identifier: Apache-2.0
// Strided walks. Operators that move data walk over a contiguous tensor and a strided tensor in
// parallel. An operator's walk is the same on every device.
#pragma once

#include <vector>

#include "lockstep/kernel.h"

namespace lockstep {

struct StridedWalk {
  Dims dims;
  std::vector<int64_t> strides;  // of the strided tensor, in elements; may be 0 or negative
  int64_t base = 0;
};

std::vector<int64_t> contiguous_strides(const Dims& dims);

// Walks with a contiguous result and a strided operand 0.
StridedWalk transpose_walk(const KernelRequest& request);
StridedWalk expand_walk(const KernelRequest& request);
StridedWalk slice_walk(const KernelRequest& request);
StridedWalk depth_to_space_walk(const KernelRequest& request);
StridedWalk space_to_depth_walk(const KernelRequest& request);
StridedWalk tile_walk(const KernelRequest& request);
// The walk of SliceGrad: dy is contiguous, and the result is strided.
StridedWalk slice_grad_walk(const KernelRequest& request);

}  // namespace lockstep
