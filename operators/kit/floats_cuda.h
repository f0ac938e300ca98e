// SPDX-License-Identifier: Apache-2.0
// Floats of every width on the device. 16-bit floats are stored like the host's Half and BFloat16
// and computed as float.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstring>
#include <type_traits>

#include "lockstep/types.h"
#include "operators/kit/launch_cuda.h"
#include "operators/kit/saturating_cast.h"

namespace lockstep {

template <class T>
struct OnDevice {
  using type = T;
};
template <>
struct OnDevice<Half> {
  using type = __half;
};
template <>
struct OnDevice<BFloat16> {
  using type = __nv_bfloat16;
};
// The device's counterpart of a host type.
template <class T>
using DeviceType = typename OnDevice<T>::type;

template <class T>
inline constexpr bool is_narrow_float =
    std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;

template <class T>
inline constexpr bool is_tensor_float = is_narrow_float<T> || std::is_same_v<T, float>;

template <class T>
using Computed = std::conditional_t<is_narrow_float<T>, float, T>;

template <class T>
__device__ Computed<T> computed(T x) {
  return static_cast<Computed<T>>(x);
}

// Rounds to nearest if T is narrow.
template <class T, class From>
__device__ T stored(From x) {
  if constexpr (std::is_same_v<T, __half>)
    return __float2half_rn(static_cast<float>(x));
  else if constexpr (std::is_same_v<T, __nv_bfloat16>)
    return __float2bfloat16_rn(static_cast<float>(x));
  else
    return converted<T>(x);
}

// The most elements in one memory access.
template <class T>
inline constexpr int kPack = 16 / sizeof(T);
template <class T, int kCount>
struct alignas(sizeof(T) * kCount) Pack {
  T at[kCount];
};

// load() and store() move a pack in one memory access.
template <class T, int kCount>
__device__ Pack<T, kCount> load(const T* from) {
  expect_aligned(from, sizeof(Pack<T, kCount>));
  return *reinterpret_cast<const Pack<T, kCount>*>(from);
}
template <class T, int kCount>
__device__ void store(T* to, const Pack<T, kCount>& pack) {
  expect_aligned(to, sizeof(Pack<T, kCount>));
  if constexpr (sizeof(pack) == sizeof(uint4)) {  // otherwise a compiler stores the pack's members
                                                  // one by one
    uint4 words;
    memcpy(&words, &pack, sizeof words);
    *reinterpret_cast<uint4*>(to) = words;
  } else {
    *reinterpret_cast<Pack<T, kCount>*>(to) = pack;
  }
}

inline bool is_aligned(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
}

}  // namespace lockstep
