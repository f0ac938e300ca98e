// SPDX-License-Identifier: Apache-2.0
// Kernels that also move operands or results between layouts, because their algorithm wants another
// one than the plan has.
#pragma once

#include "runtime/kernel.h"

namespace lockstep {

class Reorders {
 public:
  virtual ~Reorders() = default;
  // Read and written by that in one run.
  virtual std::size_t reordered_bytes() const = 0;
};

inline std::size_t reordered_bytes(const Kernel& kernel) {
  const auto* reorders = dynamic_cast<const Reorders*>(&kernel);
  return reorders ? reorders->reordered_bytes() : 0;
}

}  // namespace lockstep
