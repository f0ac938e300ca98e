// SPDX-License-Identifier: Apache-2.0
// A Resize as passes, one for each dimension that changes. For this room's files.
#pragma once

#include <vector>

#include "operators/resize/line.h"
#include "runtime/kernel.h"

namespace lockstep {

enum class ResizeDirection { forward, back };  // back: the gradient, which adds to each input place

// Transforms [outer, from, inner] to [outer, to, inner].
struct ResizePass {
  ResizeLine line;
  int64_t outer, from, to, inner;
  int64_t count() const { return outer * to * inner; }
};

struct ResizePasses {
  ResizeDirection direction;
  std::vector<ResizeLine> lines;  // of all dimensions, in memory order
  std::vector<ResizePass> passes;
  int64_t count = 1;    // elements at the start
  int64_t largest = 0;  // after a pass
  float extrapolation = 0;

  bool any_outside() const;
  // Two buffers, written in turn by all passes but the last.
  std::size_t workspace_bytes() const {
    return passes.size() < 2 ? 0 : 2 * largest * sizeof(float);
  }
};

ResizePasses resize_passes(const KernelRequest& request);       // for a Resize
ResizePasses resize_grad_passes(const KernelRequest& request);  // for a ResizeGrad

}  // namespace lockstep
