// SPDX-License-Identifier: Apache-2.0
// Conversion of a number to another type.
#pragma once

#include <limits>
#include <type_traits>

namespace lockstep {

// Converts x to Y with the same result on every device. A float outside an integer type's range
// becomes the nearest value of the type, and NaN becomes 0; C++ leaves both undefined.
template <class Y, class X>
constexpr Y converted(X x) {
  if constexpr (std::is_floating_point_v<X> && std::is_integral_v<Y> && !std::is_same_v<Y, bool>) {
    using Limits = std::numeric_limits<Y>;
    if (x >= static_cast<X>(Limits::max())) return Limits::max();
    if (x <= static_cast<X>(Limits::min())) return Limits::min();
    if (x != x) return 0;
  }
  return static_cast<Y>(x);
}

}  // namespace lockstep
