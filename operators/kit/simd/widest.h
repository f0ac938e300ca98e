// SPDX-License-Identifier: Apache-2.0
// CPU loops compiled for wider vectors than every processor has. All versions compute the same
// bits, as kernels are compiled without fused multiply-add (operators/CMakeLists.txt). Wider
// vectors need fewer instructions, which matters where 16-bit floats are widened and rounded.
#pragma once

#include <type_traits>

#include "lockstep/types.h"
#include "operators/kit/simd/isa.h"

namespace lockstep {
namespace detail {

// Compiles all functions that `body` calls into with_avx512() or with_avx2().
template <class Body>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl"), gnu::flatten, gnu::noinline]] void with_avx512(
    const Body& body) {
  body();
}
template <class Body>
[[gnu::target("avx2"), gnu::flatten, gnu::noinline]] void with_avx2(const Body& body) {
  body();
}

}  // namespace detail

// Calls body(). `body` must not call parallel_for: its threads would run code compiled for any
// processor.
template <class Body>
void widest(const Body& body) {
  switch (isa_here()) {
    case Isa::avx512:
      return detail::with_avx512(body);
    case Isa::avx2:
      return detail::with_avx2(body);
    case Isa::portable:
      return body();
  }
}

// Calls widest(body) if kPays, else body().
template <bool kPays, class Body>
void widest_if(const Body& body) {
  if constexpr (kPays)
    widest(body);
  else
    body();
}
// Calls widest() for loops over bfloat16, body() for other element types.
template <class T, class Body>
void widest_for(const Body& body) {
  widest_if<std::is_same_v<T, BFloat16>>(body);
}

}  // namespace lockstep
