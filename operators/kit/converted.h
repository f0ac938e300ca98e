// A number as one of another type.
#pragma once

#include <limits>
#include <type_traits>

namespace lockstep {

// A float out of a whole number's range becomes the nearest that type has, and NaN becomes 0, on
// every device; C++ leaves both open.
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
