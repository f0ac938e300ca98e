// SPDX-License-Identifier: Apache-2.0
// Kernels whose result is a view into operand 0 at an offset computed from the other operands. When
// possible the plan rebinds the view before each run instead of copying. Otherwise the kernel runs
// and copies.
#pragma once

#include "lockstep/kernel.h"

namespace lockstep {

class MovingView {
 public:
  virtual ~MovingView() = default;
  // Returns the byte offset of the view in operand 0. Throws if the view is not within it.
  virtual std::size_t offset(std::span<const Tensor> in) const = 0;
  // All offsets are multiples of this number; 0 for a view without bytes.
  virtual std::size_t alignment() const = 0;
};

inline const MovingView* moving_view_of(const Kernel& kernel) {
  return dynamic_cast<const MovingView*>(&kernel);
}

}  // namespace lockstep
