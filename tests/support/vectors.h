// SPDX-License-Identifier: Apache-2.0
// Limits the vector width of kernels. The bits may not change.
#pragma once

#include "operators/kit/simd/isa.h"

namespace lockstep::testing {

// Limits kernels to this width during its lifetime.
class VectorsAtMost {
 public:
  explicit VectorsAtMost(Isa most) { limit_isa(most); }
  ~VectorsAtMost() { limit_isa(Isa::avx512); }
  VectorsAtMost(const VectorsAtMost&) = delete;
  VectorsAtMost& operator=(const VectorsAtMost&) = delete;
};

}  // namespace lockstep::testing
