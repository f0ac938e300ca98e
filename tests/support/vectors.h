// SPDX-License-Identifier: Apache-2.0
// Limits how wide the vectors of kernels are, which may not change a bit.
#pragma once

#include "operators/kit/widest.h"

namespace lockstep::testing {

// Kernels use at most these while it lives.
class VectorsAtMost {
 public:
  explicit VectorsAtMost(detail::Vectors most) { detail::limit_vectors(most); }
  ~VectorsAtMost() { detail::limit_vectors(detail::Vectors::avx512); }
  VectorsAtMost(const VectorsAtMost&) = delete;
  VectorsAtMost& operator=(const VectorsAtMost&) = delete;
};

}  // namespace lockstep::testing
