// SPDX-License-Identifier: Apache-2.0
// Kernels whose result is a part of operand 0, at a place that other operands tell. If a plan can,
// it binds the result to that part of operand 0 at the start of every run: a window that moves.
// Otherwise the kernel runs, and copies.
#pragma once

#include "runtime/kernel.h"

namespace lockstep {

class ShowsPart {
 public:
  virtual ~ShowsPart() = default;
  // Where the part begins in operand 0, in bytes. Throws if it is not within it.
  virtual std::size_t place(std::span<const Tensor> in) const = 0;
  // All places are multiples of this; 0 for a part without bytes.
  virtual std::size_t multiple() const = 0;
};

inline const ShowsPart* shows_part(const Kernel& kernel) {
  return dynamic_cast<const ShowsPart*>(&kernel);
}

}  // namespace lockstep
