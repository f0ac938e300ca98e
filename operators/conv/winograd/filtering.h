// SPDX-License-Identifier: Apache-2.0
// Minimal filtering F(4, 3) after Winograd: 4 outputs of a filter with 3 taps from 6 inputs by 6
// multiplications instead of 12. Applied along rows and columns, it needs 36 multiplications
// instead of 144.
//
// The method multiplies polynomials by their values at 0, a, -a, b, -b and infinity. The points
// determine the growth of rounding errors; these points keep the error within twice the error of a
// direct convolution. The points and their powers are exact in float32.
#pragma once

namespace lockstep::winograd {

// P provides a processor's vectors (see loops_of.h). Each function transforms a row of vectors that
// are `from` apart into a row of vectors that are `to` apart.
template <class P>
struct Filtering {
  using Vector = typename P::Vector;
  static constexpr float a = 0.625F, b = 1.5F;
  static constexpr float a2 = a * a, b2 = b * b;
  static constexpr float at_a = 1 / (2 * a2 * (a2 - b2)), at_b = 1 / (2 * b2 * (b2 - a2));

  // Transforms 6 inputs to their values at the points.
  static void input(const Vector* x, int from, Vector* y, int to) {
    const Vector x0 = x[0], x1 = x[from], x2 = x[2 * from], x3 = x[3 * from], x4 = x[4 * from],
                 x5 = x[5 * from];
    y[0] = fma(a2 * b2, x0, fma(-(a2 + b2), x2, x4));
    pair(fma(-b2, x2, x4), times(a, fma(-b2, x1, x3)), y + to, to);
    pair(fma(-a2, x2, x4), times(b, fma(-a2, x1, x3)), y + 3 * to, to);
    y[5 * to] = fma(a2 * b2, x1, fma(-(a2 + b2), x3, x5));
  }

  // Transforms 3 taps to their values at the points.
  static void filter(const Vector* x, int from, Vector* y, int to) {
    const Vector x0 = x[0], x1 = x[from], x2 = x[2 * from];
    y[0] = times(1 / (a2 * b2), x0);
    pair(times(at_a, fma(a2, x2, x0)), times(at_a * a, x1), y + to, to);
    pair(times(at_b, fma(b2, x2, x0)), times(at_b * b, x1), y + 3 * to, to);
    y[5 * to] = x2;
  }

  // Transforms 6 products to 4 outputs.
  static void output(const Vector* x, int from, Vector* y, int to) {
    const auto [x0, even_a, odd_a, even_b, odd_b, x5] = apart(x, from);
    y[0] = P::add(x0, P::add(even_a, even_b));
    y[to] = fma(b, odd_b, times(a, odd_a));
    y[2 * to] = fma(b2, even_b, times(a2, even_a));
    y[3 * to] = P::add(x5, fma(b * b2, odd_b, times(a * a2, odd_a)));
  }

  // The transpose of output(): gradients of 4 outputs to gradients of 6 products.
  static void output_gradient(const Vector* x, int from, Vector* y, int to) {
    const Vector x0 = x[0], x1 = x[from], x2 = x[2 * from], x3 = x[3 * from];
    y[0] = x0;
    pair(fma(a2, x2, x0), times(a, fma(a2, x3, x1)), y + to, to);
    pair(fma(b2, x2, x0), times(b, fma(b2, x3, x1)), y + 3 * to, to);
    y[5 * to] = x3;
  }

  // The transpose of filter(): gradients of 6 values to gradients of 3 taps.
  static void filter_gradient(const Vector* x, int from, Vector* y, int to) {
    const auto [x0, even_a, odd_a, even_b, odd_b, x5] = apart(x, from);
    y[0] = fma(1 / (a2 * b2), x0, fma(at_a, even_a, times(at_b, even_b)));
    y[to] = fma(at_a * a, odd_a, times(at_b * b, odd_b));
    y[2 * to] = P::add(x5, fma(at_a * a2, even_a, times(at_b * b2, even_b)));
  }

 private:
  static Vector times(float factor, Vector x) { return P::multiply(P::all(factor), x); }
  static Vector fma(float factor, Vector x, Vector y) { return P::fma(P::all(factor), x, y); }

  // Computes the values at a point and at its negative.
  static void pair(Vector even, Vector odd, Vector* y, int to) {
    y[0] = P::add(even, odd);
    y[to] = P::subtract(even, odd);
  }

  // The sums and differences of the values at a point and at its negative.
  struct Apart {
    Vector x0, even_a, odd_a, even_b, odd_b, x5;
  };
  static Apart apart(const Vector* x, int from) {
    const Vector x1 = x[from], x2 = x[2 * from], x3 = x[3 * from], x4 = x[4 * from];
    return {x[0],           P::add(x1, x2),      P::subtract(x1, x2),
            P::add(x3, x4), P::subtract(x3, x4), x[5 * from]};
  }
};

}  // namespace lockstep::winograd
