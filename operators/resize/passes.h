// A Resize as passes, one for each dimension that changes. For the files of this room.
#pragma once

#include <vector>

#include "operators/resize/line.h"
#include "runtime/kernel.h"

namespace lockstep {

enum class ResizeDirection { forward, back };  // back: of the gradient, what was taken is given

// From [outer, from, inner] to [outer, to, inner].
struct ResizePass {
  ResizeLine line;
  int64_t outer, from, to, inner;
  int64_t count() const { return outer * to * inner; }
};

struct ResizePasses {
  ResizeDirection direction;
  std::vector<ResizeLine> lines;  // of all dimensions, in the order in which they lie in memory
  std::vector<ResizePass> passes;
  int64_t count = 1;    // elements at the start
  int64_t largest = 0;  // after a pass
  float extrapolation = 0;

  bool any_outside() const;
  // Two buffers that all passes but the last write in turn.
  std::size_t workspace_bytes() const {
    return passes.size() < 2 ? 0 : 2 * static_cast<std::size_t>(largest) * sizeof(float);
  }
};

ResizePasses resize_passes(const KernelRequest& request);       // of a Resize
ResizePasses resize_grad_passes(const KernelRequest& request);  // of a ResizeGrad

}  // namespace lockstep
