// SPDX-License-Identifier: Apache-2.0
// The widest vectors that kernels compute with on this processor, asked once for all of them.
#pragma once

namespace lockstep {

// AVX2 comes with fused multiply-add; AVX-512 with its extensions BW, DQ and VL.
enum class Isa { portable, avx2, avx512 };
Isa isa_here();
// From now on at most this. For tests, which compare the results of all.
void limit_isa(Isa most);

}  // namespace lockstep
