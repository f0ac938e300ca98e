// SPDX-License-Identifier: Apache-2.0
// The order in which selections rank numbers: the best first, equal ones by index, NaN last.
// Numbers become unsigned keys in that order, so that comparing them needs no case distinction.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

#include "operators/kit/whole_numbers.h"

namespace lockstep {

// The key of a number: the best has the smallest, NaN the largest, which no other number has.
template <class T>
Bits<T> rank_key(T value, bool largest) {
  using Key = Bits<T>;
  constexpr Key kSign = Key(1) << (8 * sizeof(T) - 1);
  Key key;
  if constexpr (std::floating_point<T>) {
    if (!(value == value)) return ~Key(0);
    key = std::bit_cast<Key>(value + T(0));  // the sum makes 0 of -0, which is its equal
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
