// SPDX-License-Identifier: Apache-2.0
// Limits how wide the vectors of kernels are, which may not change a bit.
#pragma once

#include "operators/kit/simd/isa.h"

namespace lockstep::testing {

// Kernels use at most these while it lives.
class VectorsAtMost {
 public:
  explicit VectorsAtMost(Isa most) { limit_isa(most); }
  ~VectorsAtMost() { limit_isa(Isa::avx512); }
  VectorsAtMost(const VectorsAtMost&) = delete;
  VectorsAtMost& operator=(const VectorsAtMost&) = delete;
};

}  // namespace lockstep::testing
