// SPDX-License-Identifier: Apache-2.0
// The order in which selections (TopK, suppression) rank numbers: the best first, equal numbers by
// index, NaN last. Numbers become unsigned keys in this order, so that comparisons need no special
// cases.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

#include "operators/kit/wrapping_arithmetic.h"

namespace lockstep {

// The key of a number. The best number has the smallest key. NaN has the largest key, which no
// other number has.
template <class T>
Bits<T> sort_key(T value, bool largest) {
  using Key = Bits<T>;
  constexpr Key kSign = Key(1) << (8 * sizeof(T) - 1);
  Key key;
  if constexpr (std::floating_point<T>) {
    if (!(value == value)) return ~Key(0);
    key = std::bit_cast<Key>(value == T(0) ? T(0) : value);  // -0 equals 0
    key = key & kSign ? ~key : key | kSign;  // bits of negative numbers grow downwards
  } else {
    key = static_cast<Key>(value) ^ kSign;
  }
  return largest ? ~key : key;
}

template <class Key>
struct Ranked {
  Key key;
  int64_t index;
  friend bool operator<(const Ranked& a, const Ranked& b) {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  }
};

}  // namespace lockstep
