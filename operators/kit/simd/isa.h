// SPDX-License-Identifier: Apache-2.0
// The widest vector instructions of this processor. All kernels query them here.
#pragma once

namespace lockstep {

// AVX2 includes fused multiply-add; AVX-512 includes its extensions BW, DQ and VL.
enum class Isa { portable, avx2, avx512 };
Isa isa_here();
// Limits isa_here() from now on. For tests and benchmarks that compare all instruction sets.
void limit_isa(Isa most);

// True if the processor has AVX512-BF16 and oneDNN uses it (operators/kit/dnnl.cc).
bool multiplies_bfloat16();

// Returns the loops compiled for this processor; null if it has neither AVX2 nor AVX-512.
template <class Loops>
const Loops* loops_of_isa(const Loops& (*avx2)(), const Loops& (*avx512)()) {
  switch (isa_here()) {
    case Isa::avx512:
      return &avx512();
    case Isa::avx2:
      return &avx2();
    case Isa::portable:
      break;
  }
  return nullptr;
}

}  // namespace lockstep
