// SPDX-License-Identifier: Apache-2.0
// Batch norm's two passes over memory on the CPU, including fused operators. The arithmetic of an
// element is the same with and without fusion, including the rounding of values that would be
// stored between two nodes.
#pragma once

#include <bit>
#include <climits>
#include <cmath>
#include <cstdint>

#include "operators/batch_norm/batch_norm.h"
#include "operators/batch_norm/blocks.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/simd/pack.h"

namespace lockstep {

std::unique_ptr<Kernel> prepare_batch_norm(const KernelRequest& request);
std::unique_ptr<Kernel> prepare_batch_norm_grad(const KernelRequest& request);

// The element types of tensors. Statistics, factors and sums are always floats.
using Normalised = Types<float, BFloat16>;

// Calls make.operator()<T, kLanes, kEnding>().
template <class Make>
std::unique_ptr<Kernel> for_passes(const TensorDesc& x, bool relu, bool clip, const Make& make) {
  const auto with_lanes = [&]<class T, int kLanes>() -> std::unique_ptr<Kernel> {
    if (relu) return make.template operator()<T, kLanes, Ending::relu>();
    if (clip) return make.template operator()<T, kLanes, Ending::clip>();
    return make.template operator()<T, kLanes, Ending::none>();
  };
  return dispatch<Normalised>(x.dtype, [&]<class T>() {
    return x.layout.block() == 16 ? with_lanes.template operator()<T, 16>()
                                  : with_lanes.template operator()<T, 8>();
  });
}

// The float that is `steps` steps above x.
inline float stepped(float x, int32_t steps) {
  const auto mirrored = [](int32_t bits) { return bits < 0 ? INT32_MIN - bits : bits; };
  return std::bit_cast<float>(mirrored(mirrored(std::bit_cast<int32_t>(x)) + steps));
}
// The largest float that is at most `bound` after rounding to T, and the smallest that is at least
// `bound`.
template <class T>
float most_stored_below(float bound) {
  if (std::is_same_v<T, float> || std::isinf(bound)) return bound;
  const float tie = stepped(bound, 0x8000);
  return static_cast<T>(tie) <= bound ? tie : stepped(tie, -1);
}
template <class T>
float least_stored_above(float bound) {
  return -most_stored_below<T>(-bound);
}

// The normalised value, before the fused operators.
inline Four normalised(Four x, Four factor, Four center, Four bias) {
  return factor * (x - center) + bias;
}

}  // namespace lockstep
