// SPDX-License-Identifier: Apache-2.0
// Element-wise work on the CPU. Each operator and type only has a plain loop over a row. The walk
// over rows of broadcast operands and the division among threads are shared code, compiled once.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

#include "lockstep/kernel.h"
#include "operators/kit/compute_type.h"
#include "operators/kit/saturating_cast.h"
#include "operators/kit/simd/widest.h"

namespace lockstep {

// An operand of a row. Its elements are `step` elements apart; step is 0 or 1.
struct RowOperand {
  const void* at;
  int64_t step;
};
using RowOfOne = void (*)(const void* x, void* y, int64_t count);
using RowOfTwo = void (*)(RowOperand a, RowOperand b, void* y, int64_t count);
using RowOfThree = void (*)(RowOperand a, RowOperand b, RowOperand c, void* y, int64_t count);
// Throws for invalid operands before a parallel loop, which no exception may leave.
using CheckOperand = void (*)(const Tensor& operand);

std::unique_ptr<Kernel> map_rows(const KernelRequest& request, RowOfOne row);
std::unique_ptr<Kernel> combine_rows(const KernelRequest& request, RowOfTwo row,
                                     CheckOperand check_second = nullptr);
std::unique_ptr<Kernel> choose_rows(const KernelRequest& request, RowOfThree row);

// Common types, for which optimised loops are worth the compile time.
template <class T>
inline constexpr bool is_common =
    std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int32_t> ||
    std::is_same_v<T, int64_t> || std::is_same_v<T, BFloat16>;

// y = F(x).
template <class X, class Y, class F>
void row_of_one(const void* x, void* y, int64_t count) {
  widest_if<std::is_same_v<X, BFloat16> || std::is_same_v<Y, BFloat16>>([=] {
    for (int64_t i = 0; i < count; ++i)
      static_cast<Y*>(y)[i] =
          converted<Y>(F()(static_cast<Widened<X>>(static_cast<const X*>(x)[i])));
  });
}

// y = F(a, b).
template <class A, class B, class Y, class F>
void row_of_two(RowOperand left, RowOperand right, void* result, int64_t count) {
  const A* a = static_cast<const A*>(left.at);
  const B* b = static_cast<const B*>(right.at);
  Y* y = static_cast<Y*>(result);
  const auto made = [](A of_a, B of_b) {
    return converted<Y>(F()(static_cast<Widened<A>>(of_a), static_cast<Widened<B>>(of_b)));
  };
  widest_for<A>([=] {
    if constexpr (is_common<A> && std::is_same_v<A, B>) {
      if (left.step == 1 && right.step == 1) {
        for (int64_t i = 0; i < count; ++i) y[i] = made(a[i], b[i]);
        return;
      }
      if (left.step == 1) {
        for (int64_t i = 0; i < count; ++i) y[i] = made(a[i], *b);
        return;
      }
      if (right.step == 1) {
        for (int64_t i = 0; i < count; ++i) y[i] = made(*a, b[i]);
        return;
      }
    }
    for (int64_t i = 0; i < count; ++i) y[i] = made(a[i * left.step], b[i * right.step]);
  });
}

}  // namespace lockstep
