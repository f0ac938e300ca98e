// SPDX-License-Identifier: Apache-2.0
// Compiled for any processor, unlike the loops.
#include "operators/batch_norm/blocks.h"

#include "operators/kit/simd/isa.h"

namespace lockstep::normed {

template <class T>
const BlockLoops<T>* loops_here() {
  return isa_here() == Isa::avx512 ? &avx512_loops<T>() : nullptr;
}

template const BlockLoops<float>* loops_here<float>();
template const BlockLoops<BFloat16>* loops_here<BFloat16>();

}  // namespace lockstep::normed
