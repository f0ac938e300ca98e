// SPDX-License-Identifier: Apache-2.0
// Element operations of sums over replicas.
#pragma once

#include "operators/kit/elements_cuda.h"

namespace lockstep {

constexpr int kMostTerms = 64;

// Rounds the value to W, as transit does.
template <class W, class X>
__device__ Computed<X> travelled(X x) {
  return static_cast<Computed<X>>(computed(stored<W>(computed(x))));
}

// Adds terms in order, each rounded as in transit, and rounds the sum to W.
template <class X, class W>
struct SumTerms {
  int terms;
  Computed<X> divisor;
  const X* in[kMostTerms];
  W* total;
  __device__ void operator()(int64_t i) const {
    Computed<X> sum = travelled<W>(in[0][i]);
    for (int k = 1; k < terms; ++k) sum += travelled<W>(in[k][i]);
    total[i] = stored<W>(divisor == Computed<X>(1) ? sum : sum / divisor);
  }
};

// Divides a received sum and copies it to several replicas.
template <class T, class W>
struct HandRound {
  int receivers;
  T divisor;
  const W* total;
  T* out[kMostTerms];
  __device__ void operator()(int64_t i) const {
    const T sum = static_cast<T>(computed(total[i]));
    const T result = divisor == T(1) ? sum : static_cast<T>(sum / divisor);
    for (int k = 0; k < receivers; ++k) out[k][i] = result;
  }
};

}  // namespace lockstep
