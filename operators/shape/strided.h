// Operators that move data are one walk over a contiguous tensor beside another with free strides.
// What walk an operator takes is the same on every device.
#pragma once

#include <vector>

#include "runtime/kernel.h"

namespace lockstep {

struct StridedWalk {
  Dims dims;
  std::vector<int64_t> strides;  // of the other, in elements; may be 0 or negative
  int64_t base = 0;
};

std::vector<int64_t> contiguous_strides(const Dims& dims);

// The result is contiguous, operand 0 is walked through.
StridedWalk transpose_walk(const KernelRequest& request);
StridedWalk expand_walk(const KernelRequest& request);
StridedWalk slice_walk(const KernelRequest& request);
StridedWalk depth_to_space_walk(const KernelRequest& request);
StridedWalk space_to_depth_walk(const KernelRequest& request);
StridedWalk tile_walk(const KernelRequest& request);
// Of SliceGrad: dy is contiguous, the result is walked through.
StridedWalk slice_grad_walk(const KernelRequest& request);

}  // namespace lockstep
