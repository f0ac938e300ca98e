// SPDX-License-Identifier: Apache-2.0
// Kernels whose result is a view into operand 0 at an offset computed from the other operands. When
// possible the plan rebinds the view before each run instead of copying. Otherwise the kernel runs
// and copies.
#pragma once

#include "lockstep/kernel.h"

namespace lockstep {

class ShowsPart {
 public:
  virtual ~ShowsPart() = default;
  // Returns the byte offset of the view in operand 0. Throws if the view is not within it.
  virtual std::size_t place(std::span<const Tensor> in) const = 0;
  // All offsets are multiples of this number; 0 for a view without bytes.
  virtual std::size_t multiple() const = 0;
};

inline const ShowsPart* shows_part(const Kernel& kernel) {
  return dynamic_cast<const ShowsPart*>(&kernel);
}

}  // namespace lockstep
