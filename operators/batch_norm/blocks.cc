// Compiled for any processor, unlike the loops.
#include "operators/batch_norm/blocks.h"

#include "operators/kit/widest.h"

namespace lockstep::normed {

template <class T>
const Loops<T>* loops_here() {
  return detail::widest_vectors() == detail::Vectors::avx512 ? &avx512_loops<T>() : nullptr;
}

template const Loops<float>* loops_here<float>();
template const Loops<BFloat16>* loops_here<BFloat16>();

}  // namespace lockstep::normed
