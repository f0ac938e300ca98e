// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic that wraps around on every device, as hardware does. C++ leaves signed
// overflow undefined, and on some processors the smallest integer divided by -1 crashes the
// process. Float arithmetic is unchanged. Callers must check for division by zero.
#pragma once

#include <cstdint>
#include <type_traits>

namespace lockstep {

template <class T>
inline constexpr bool is_whole = std::is_integral_v<T> && !std::is_same_v<T, bool>;

// Wide enough that a product of narrow integers does not overflow int.
template <class T>
using Bits = std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>;

template <class T>
constexpr T plus(T a, T b) {
  if constexpr (is_whole<T>)
    return static_cast<T>(static_cast<Bits<T>>(a) + static_cast<Bits<T>>(b));
  else
    return static_cast<T>(a + b);
}

template <class T>
constexpr T minus(T a, T b) {
  if constexpr (is_whole<T>)
    return static_cast<T>(static_cast<Bits<T>>(a) - static_cast<Bits<T>>(b));
  else
    return static_cast<T>(a - b);
}

template <class T>
constexpr T times(T a, T b) {
  if constexpr (is_whole<T>)
    return static_cast<T>(static_cast<Bits<T>>(a) * static_cast<Bits<T>>(b));
  else
    return static_cast<T>(a * b);
}

template <class T>
constexpr T negative(T a) {
  if constexpr (is_whole<T>)
    return minus(T(0), a);
  else
    return -a;
}

template <class T>
constexpr T absolute(T a) {
  return a < 0 ? negative(a) : a;
}

template <class T>
constexpr T quotient(T a, T b) {
  if constexpr (is_whole<T> && std::is_signed_v<T>)
    return b == -1 ? negative(a) : static_cast<T>(a / b);
  else
    return static_cast<T>(a / b);
}

// The remainder, with the dividend's sign.
template <class T>
constexpr T remainder_of(T a, T b) {
  if constexpr (std::is_signed_v<T>)
    return b == -1 ? T(0) : static_cast<T>(a % b);
  else
    return static_cast<T>(a % b);
}

}  // namespace lockstep
