// SPDX-License-Identifier: Apache-2.0
// The reductions on CPUs: each by its start value, the term of an element, the join of two values
// and the final step.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "operators/kit/wrapping_arithmetic.h"

namespace lockstep::reductions {

template <class T>
using Accumulator = std::conditional_t<std::is_integral_v<T>, T, double>;

struct Sum {
  template <class A>
  static A start() {
    return A(0);
  }
  template <class A>
  static A load(A x) {
    return x;
  }
  template <class A>
  static A join(A a, A b) {
    return plus(a, b);
  }
  template <class A>
  static A finish(A total, int64_t) {
    return total;
  }
};
struct Mean : Sum {
  template <class A>
  static A finish(A total, int64_t count) {
    if constexpr (is_whole<A>)
      if (count == 0) return 0;  // NaN converted to an integer
    return total / static_cast<A>(count);
  }
};
struct L1 : Sum {
  template <class A>
  static A load(A x) {
    return absolute(x);
  }
};
struct SumSquare : Sum {
  template <class A>
  static A load(A x) {
    return times(x, x);
  }
};
struct L2 : SumSquare {
  template <class A>
  static A finish(A total, int64_t) {
    return static_cast<A>(std::sqrt(total));
  }
};
struct LogSum : Sum {
  template <class A>
  static A finish(A total, int64_t) {
    return static_cast<A>(std::log(total));
  }
};
struct Prod : Sum {
  template <class A>
  static A start() {
    return A(1);
  }
  template <class A>
  static A join(A a, A b) {
    return times(a, b);
  }
};
struct Max : Sum {
  template <class A>
  static A start() {
    return std::is_floating_point_v<A> ? -std::numeric_limits<A>::infinity()
                                       : std::numeric_limits<A>::lowest();
  }
  template <class A>
  static A join(A a, A b) {
    return b > a || b != b ? b : a;
  }
};
struct Min : Sum {
  template <class A>
  static A start() {
    return std::is_floating_point_v<A> ? std::numeric_limits<A>::infinity()
                                       : std::numeric_limits<A>::max();
  }
  template <class A>
  static A join(A a, A b) {
    return b < a || b != b ? b : a;
  }
};

// Reads the elements twice: exponentials of differences to the largest element neither overflow nor
// all become 0. A difference to an infinity would not be a number.
class LogSumExp : public Sum {
 public:
  using First = Max;  // the reduction of the first reading
  LogSumExp() = default;
  explicit LogSumExp(double largest) : top_(std::isinf(largest) ? 0 : largest) {}
  double load(double x) const { return std::exp(x - top_); }
  double finish(double total, int64_t) const { return top_ + std::log(total); }

 private:
  double top_ = 0;
};
template <class How>
constexpr bool kReadsTwice = requires {
  typename How::First;
};

// The type of a reduction's total.
template <class T, class How>
using Total = std::conditional_t<kReadsTwice<How>, double, Accumulator<T>>;

}  // namespace lockstep::reductions
