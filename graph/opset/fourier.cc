// SPDX-License-Identifier: Apache-2.0
#include "graph/opset/fourier.h"

#include <cmath>
#include <complex>
#include <numbers>

namespace lockstep {
namespace {

constexpr int64_t kMostTable = int64_t{1} << 21;  // elements of a table

using Complex = std::complex<double>;

// exp(2 pi i turns / of), accurate for any number of turns.
Complex on_circle(int64_t turns, int64_t of) {
  const double angle =
      2 * std::numbers::pi * static_cast<double>(turns % of) / static_cast<double>(of);
  return {std::cos(angle), std::sin(angle)};
}

// The largest divisor of `length` that is at most its square root.
int64_t divisor_of(int64_t length) {
  auto p = static_cast<int64_t>(std::sqrt(static_cast<double>(length)));
  while (length % p != 0) --p;
  return p;
}

// The forward transform of constants, whose number is a power of two.
std::vector<Complex> transformed(const std::vector<Complex>& x) {
  const std::size_t size = x.size();
  if (size == 1) return x;
  std::vector<Complex> even, odd;
  for (std::size_t i = 0; i < size; ++i) (i % 2 == 0 ? even : odd).push_back(x[i]);
  even = transformed(even);
  odd = transformed(odd);
  std::vector<Complex> y(size);
  for (std::size_t k = 0; k < size / 2; ++k) {
    const auto turned =
        odd[k] * std::conj(on_circle(static_cast<int64_t>(k), static_cast<int64_t>(size)));
    y[k] = even[k] + turned;
    y[k + size / 2] = even[k] - turned;
  }
  return y;
}

// The matrix of a short transform; row: a part of a sample, column: a part of a result.
// `interleaved`: the parts of a sample are neighbours, else all real parts come first.
std::vector<double> matrix_of(const Fourier::Sizes& sizes, bool inverse, bool interleaved) {
  const auto place = [&](int64_t number, int64_t part, int64_t count, int64_t parts) {
    return interleaved ? number * parts + part : part * count + number;
  };
  const int64_t columns = sizes.made * 2;
  std::vector<double> matrix(static_cast<std::size_t>(sizes.given * sizes.parts * columns));
  const double scale = inverse ? 1.0 / static_cast<double>(sizes.length) : 1.0;
  for (int64_t t = 0; t < sizes.given; ++t)
    for (int64_t k = 0; k < sizes.made; ++k) {
      Complex factor = scale * on_circle(t * k, sizes.length);
      if (!inverse) factor = std::conj(factor);
      const int64_t real = place(k, 0, sizes.made, 2), imaginary = place(k, 1, sizes.made, 2);
      double* row = matrix.data() + place(t, 0, sizes.given, sizes.parts) * columns;
      row[real] = factor.real();
      row[imaginary] = factor.imag();
      if (sizes.parts == 1) continue;
      row = matrix.data() + place(t, 1, sizes.given, sizes.parts) * columns;
      row[real] = -factor.imag();
      row[imaginary] = factor.real();
    }
  return matrix;
}

bool is_short(const Fourier::Sizes& sizes) {
  return sizes.given * sizes.parts * sizes.made * 2 <= kMostTable;
}

}  // namespace

Value Fourier::table(const std::vector<double>& values, const Dims& dims) {
  return node_.constant(Literal::rounded<double>(type_, values, dims));
}

Value Fourier::transposed(Value x, const std::vector<int64_t>& order) {
  return node_.add("Transpose", {x}, {{"perm", order}});
}

Value Fourier::padded(Value x, int64_t axis, int64_t count) {
  std::vector<int64_t> pads(6);
  pads[static_cast<std::size_t>(3 + axis)] = count;
  return node_.add("Pad", {x, node_.vector(pads)});
}

Value Fourier::times(Value x, int64_t axis, const Dims& dims, const std::vector<double>& real,
                     const std::vector<double>& imaginary) {
  const Value swapped = node_.add(
      "Concat", {node_.slice(x, axis, 1, 2), node_.slice(x, axis, 0, 1)}, {{"axis", axis}});
  // `signs` has the parts -imaginary and imaginary along the axis.
  std::vector<double> negative;
  for (double value : imaginary) negative.push_back(-value);
  const int64_t within = axis - static_cast<int64_t>(node_.graph().shape(x).size() - dims.size());
  const Value signs =
      node_.add("Concat", {table(negative, dims), table(imaginary, dims)}, {{"axis", within}});
  return node_.add("Add",
                   {node_.add("Mul", {x, table(real, dims)}), node_.add("Mul", {swapped, signs})});
}

Value Fourier::transform(Value x, const Sizes& sizes, bool inverse) {
  if (is_short(sizes)) {
    const int64_t rows = sizes.given * sizes.parts;
    const Value matrix = table(matrix_of(sizes, inverse, true), {rows, sizes.made * 2});
    const Value y = node_.add("MatMul", {node_.reshape(x, {-1, rows}), matrix});
    return node_.reshape(y, {-1, sizes.made, 2});
  }
  if (sizes.given < sizes.length) x = padded(x, 1, sizes.length - sizes.given);
  // A real signal only needs another shape.
  x = sizes.parts == 1 ? node_.reshape(x, {-1, 1, sizes.length}) : transposed(x, {0, 2, 1});
  return transposed(planes(x, sizes.length, sizes.parts, sizes.made, inverse), {0, 2, 1});
}

Value Fourier::planes(Value x, int64_t length, int64_t parts, int64_t made, bool inverse) {
  const Sizes sizes{length, length, made, parts};
  if (is_short(sizes)) {
    const Value matrix = table(matrix_of(sizes, inverse, false), {length * parts, made * 2});
    return node_.reshape(node_.add("MatMul", {node_.reshape(x, {-1, length * parts}), matrix}),
                         {-1, 2, made});
  }
  const int64_t p = divisor_of(length);
  if (p == 1) return convolved(x, length, parts, made, inverse);
  const Value y = composed(x, p, length / p, parts, inverse);
  return made == length ? y : node_.slice(y, 2, 0, made);
}

// With t = q t1 + t2 and k = k1 + p k2, the exponent t k / (p q) is t1 k1 / p + t2 k1 / (p q) +
// t2 k2 / q up to whole turns.
Value Fourier::composed(Value x, int64_t p, int64_t q, int64_t parts, bool inverse) {
  const Value by_t2 = transposed(node_.reshape(x, {-1, parts, p, q}), {0, 3, 1, 2});
  const Value first = planes(node_.reshape(by_t2, {-1, parts, p}), p, parts, p, inverse);
  const Value by_k1 = transposed(node_.reshape(first, {-1, q, 2, p}), {0, 3, 2, 1});
  std::vector<double> real, imaginary;
  for (int64_t k1 = 0; k1 < p; ++k1)
    for (int64_t t2 = 0; t2 < q; ++t2) {
      const Complex turn = on_circle(k1 * t2, p * q);
      real.push_back(turn.real());
      imaginary.push_back(inverse ? turn.imag() : -turn.imag());
    }
  const Value turned = times(by_k1, 2, {p, 1, q}, real, imaginary);
  const Value second = planes(node_.reshape(turned, {-1, 2, q}), q, 2, q, inverse);
  const Value by_k2 = transposed(node_.reshape(second, {-1, p, 2, q}), {0, 2, 3, 1});
  return node_.reshape(by_k2, {-1, 2, p * q});
}

// t k = (t^2 + k^2 - (k - t)^2) / 2: a product, a convolution with constants, a product.
Value Fourier::convolved(Value x, int64_t length, int64_t parts, int64_t made, bool inverse) {
  const auto chirp = [&](int64_t t) {
    const Complex turn = on_circle(t * t % (2 * length), 2 * length);
    return inverse ? turn : std::conj(turn);
  };
  int64_t longer = 1;
  while (longer < length + made - 1) longer *= 2;
  std::vector<double> real, imaginary;
  const auto write = [&](int64_t count, const auto& value) {
    real.clear();
    imaginary.clear();
    for (int64_t i = 0; i < count; ++i) {
      const Complex one = value(i);
      real.push_back(one.real());
      imaginary.push_back(one.imag());
    }
  };
  write(length, chirp);
  Value chirped;
  if (parts == 1) {
    std::vector<double> both = real;
    both.insert(both.end(), imaginary.begin(), imaginary.end());
    chirped = node_.add("Mul", {x, table(both, {2, length})});
  } else {
    chirped = times(x, 1, {1, length}, real, imaginary);
  }
  std::vector<Complex> filter(static_cast<std::size_t>(longer));
  for (int64_t t = 0; t < made; ++t) filter[t] = std::conj(chirp(t));
  for (int64_t t = 1; t < length; ++t) filter[longer - t] = std::conj(chirp(t));
  filter = transformed(filter);
  const Value there = planes(padded(chirped, 2, longer - length), longer, 2, longer, false);
  write(longer, [&](int64_t i) { return filter[i]; });
  const Value filtered = times(there, 1, {1, longer}, real, imaginary);
  const Value back = planes(filtered, longer, 2, made, true);
  const double scale = inverse ? 1.0 / static_cast<double>(length) : 1.0;
  write(made, [&](int64_t k) { return scale * chirp(k); });
  return times(back, 1, {1, made}, real, imaginary);
}

}  // namespace lockstep
