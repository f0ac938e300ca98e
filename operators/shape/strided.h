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

// Pad: the source in x of a position in y along one dimension. `at` is the position relative to x;
// -1: the position is padding.
enum class PadMode { constant, edge, reflect };
PadMode pad_mode(const KernelRequest& request);
constexpr int64_t pad_source(PadMode mode, int64_t at, int64_t size) {
  if (mode == PadMode::edge) return at < 0 ? 0 : at < size ? at : size - 1;
  if (mode == PadMode::reflect) {
    while (size > 1 && (at < 0 || at >= size)) at = at < 0 ? -at : 2 * (size - 1) - at;
    return at;
  }
  return at < 0 || at >= size ? -1 : at;
}

}  // namespace lockstep
