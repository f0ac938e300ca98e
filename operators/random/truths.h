// SPDX-License-Identifier: Apache-2.0
// The results of Bernoulli as bytes, so that one kernel makes results of all types of one size.
#pragma once

#include <cstring>
#include <limits>

#include "lockstep/types.h"

namespace lockstep {

template <class Bits>
struct Truths {
  Bits one, of_nan;

  // A probability that is not a number stays so, and a step that checks its values finds it.
  constexpr Bits of(double number, double probability) const {
    if (probability != probability) return of_nan;
    return number < probability ? one : Bits(0);
  }
};

// The bytes of 1 and NaN; 0 for NaN in types without NaN.
template <class Bits>
Truths<Bits> truths_of(DType type) {
  if (!is_floating(type)) return {Bits(1), Bits(0)};
  Truths<Bits> truths{};
  with_floating(type, [&]<class T>() {
    using Through = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const T one(Through(1)), nan(std::numeric_limits<Through>::quiet_NaN());
    if constexpr (sizeof(T) == sizeof(Bits)) {
      std::memcpy(&truths.one, &one, sizeof one);
      std::memcpy(&truths.of_nan, &nan, sizeof nan);
    }
  });
  return truths;
}

}  // namespace lockstep
