// SPDX-License-Identifier: Apache-2.0
// A Resize as a sequence of passes, one for each dimension that changes.
#pragma once

#include <vector>

#include "lockstep/kernel.h"
#include "operators/resize/line.h"

namespace lockstep {

enum class ResizeDirection { forward, back };  // back: the gradient

// Transforms [outer, from, inner] to [outer, to, inner].
struct ResizePass {
  ResizeLine line;
  int64_t outer, from, to, inner;
  int64_t count() const { return outer * to * inner; }
};

struct ResizePasses {
  ResizeDirection direction;
  std::vector<ResizeLine> lines;  // for all dimensions, in memory order
  std::vector<ResizePass> passes;
  int64_t count = 1;    // number of elements before the first pass
  int64_t largest = 0;  // most elements after a pass
  float extrapolation = 0;

  bool any_outside() const;
  // The bytes of two buffers, which all passes but the last write alternately.
  std::size_t workspace_bytes() const {
    return passes.size() < 2 ? 0 : 2 * largest * sizeof(float);
  }
};

ResizePasses resize_passes(const KernelRequest& request);       // for a Resize
ResizePasses resize_grad_passes(const KernelRequest& request);  // for a ResizeGrad

}  // namespace lockstep
