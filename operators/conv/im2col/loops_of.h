// SPDX-License-Identifier: Apache-2.0
// Implements loops.h. P provides a processor's vectors of floats: vectors of kLanes floats,
// arithmetic, loads and stores of the first few lanes, and halved(), which adds 16 floats to 8.
// There are enough registers for kRows x kVectors sums, or kRows x kFewAtOnce rows of 16.
//
// For files that are compiled for one kind of processor: nothing here may be shared with other
// files, so no function of the standard library is used.
#pragma once

#include "operators/conv/im2col/loops.h"
#include "operators/conv/im2col/taps_of.h"

namespace lockstep::im2col {

template <class P>
class ColumnLoopsOf final : public Im2colLoops {
 public:
  int lanes() const override { return kLanes; }
  const char* name() const override { return P::kName; }

  void columns(const float* x, const Conv2d& conv, const Strip& strip, float* to) const override {
    const int64_t pixels = strip.rows * conv.across.result;
    Taps::each_tap(conv, strip, [&](const Seen& seen, int64_t first, int64_t shift) {
      const bool whole = seen.rows == strip.rows && seen.pixels == conv.across.result;
      for (int64_t c = 0; c < conv.inputs; ++c) {
        float* row = to + seen.value(conv, c) * strip.stride;
        clear(row + (whole ? pixels : 0), strip.stride - (whole ? pixels : 0));
        const float* plane = x + c * conv.down.image * conv.across.image + shift;
        Taps::read(plane, conv, seen, row + first);
      }
    });
  }

  void add_columns(const float* from, const Conv2d& conv, const Strip& strip,
                   float* dx) const override {
    Taps::each_tap(conv, strip, [&](const Seen& seen, int64_t first, int64_t shift) {
      for (int64_t c = 0; c < conv.inputs; ++c)
        Taps::add(from + seen.value(conv, c) * strip.stride + first, conv, seen,
                  dx + c * conv.down.image * conv.across.image + shift);
    });
  }

  void multiply(const Product& product, const float* columns, int64_t stride, int64_t pixels,
                float* y, int64_t y_stride) const override {
    Product part = product;
    for (int64_t row = 0; row < product.rows; row += kRows) {
      part.a = product.a + row * product.of_row;
      part.bias = product.bias ? product.bias + row : nullptr;
      part.z = product.z ? product.z + row * y_stride : nullptr;
      part.rows = product.rows - row < kRows ? product.rows - row : kRows;
      multiply_rows<kRows>(part, columns, stride, pixels, y + row * y_stride, y_stride);
    }
  }

  void add_products(const float* columns, int64_t stride, const StripGradients& gradients,
                    int64_t values, bool first, float* sums) const override {
    const int64_t padded = whole(gradients.outputs);
    const int64_t many = gradients.outputs - few_of(gradients.outputs);
    turn(gradients, many);
    for (int64_t v = 0; v < values; v += kRows) {
      const float* rows = columns + v * stride;
      float* to = sums + v * padded;
      for (int64_t o = 0, vectors = 0; o < many; o += vectors * kLanes) {
        vectors = at_once(whole(many - o) / kLanes);
        add_rest<kRows, kVectors>(values - v, vectors, rows, stride, gradients.turned + o,
                                  whole(many), gradients.pixels, first, to + o, padded);
      }
      for (int64_t o = many; o < gradients.outputs; o += P::kFewAtOnce)
        add_few<kRows, P::kFewAtOnce>(values - v, gradients.outputs - o, rows, stride, gradients, o,
                                      first, to + o, padded);
    }
  }

  void sum(const float* from, int64_t parts, int64_t values, int64_t outputs, float* dw,
           int64_t begin, int64_t end) const override {
    const int64_t padded = whole(outputs);
    for (int64_t o = 0; o < padded; o += kLanes) {
      const int64_t used = outputs - o < kLanes ? outputs - o : kLanes;
      for (int64_t v = begin; v < end; v += kLanes) {
        const int64_t rows = end - v < kLanes ? end - v : kLanes;
        float square[kLanes][kLanes];
        for (int64_t r = 0; r < rows; ++r) {
          const float* at = from + (v + r) * padded + o;
          Vector all = P::load(at);
          for (int64_t part = 1; part < parts; ++part)
            all = P::add(all, P::load(at + part * values * padded));
          P::store(square[r], all);
        }
        for (int64_t i = 0; i < used; ++i)
          for (int64_t r = 0; r < rows; ++r) dw[(o + i) * values + v + r] = square[r][i];
      }
    }
  }

 private:
  using Vector = typename P::Vector;
  using Taps = TapsOf<P>;
  using Seen = typename Taps::Seen;
  static constexpr int kLanes = P::kLanes, kRows = P::kRows, kVectors = P::kVectors;
  // The same on all processors, so that lanes change no bit.
  static constexpr int kSixteen = 16, kParts = kSixteen / kLanes;

  static int64_t whole(int64_t floats) { return (floats + kLanes - 1) / kLanes * kLanes; }
  // The number of vectors to process next. Never all but one of them: the sums of a single vector
  // are so few that each addition would wait for the previous addition.
  static int64_t at_once(int64_t left) {
    return left == kVectors + 1 ? kVectors - 1 : left < kVectors ? left : kVectors;
  }
  // The outputs beyond the last whole 16, if a vector of them would be mostly padding; else 0.
  static int64_t few_of(int64_t outputs) {
    const int64_t rest = outputs % kSixteen;
    return rest <= kSixteen / 4 ? rest : 0;
  }
  // Adds in halves, so that all processors add in the same order.
  static float sum_of(const Vector (&lanes)[kParts]) {
    const auto eight = P::halved(lanes);
    const auto four = __builtin_shufflevector(eight, eight, 0, 1, 2, 3) +
                      __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
    return (four[0] + four[2]) + (four[1] + four[3]);
  }
  static int64_t at_most(int64_t count) { return count < kLanes ? count : kLanes; }

  static void clear(float* to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] = 0;
  }

  template <int kCount>
  static void multiply_rows(const Product& product, const float* columns, int64_t stride,
                            int64_t pixels, float* y, int64_t y_stride) {
    if (product.rows < kCount) {
      if constexpr (kCount > 1)
        multiply_rows<kCount - 1>(product, columns, stride, pixels, y, y_stride);
      return;
    }
    Product part = product;
    for (int64_t p = 0; p < pixels; p += kVectors * kLanes) {
      part.z = product.z ? product.z + p : nullptr;
      multiply_vectors<kCount, kVectors>(part, columns + p, stride, pixels - p, y + p, y_stride);
    }
  }
  template <int kCount, int kWide>
  static void multiply_vectors(const Product& product, const float* columns, int64_t stride,
                               int64_t pixels, float* y, int64_t y_stride) {
    if constexpr (kWide > 1)
      if (pixels <= (kWide - 1) * kLanes)
        return multiply_vectors<kCount, kWide - 1>(product, columns, stride, pixels, y, y_stride);
    Vector sums[kCount][kWide];
    for (int r = 0; r < kCount; ++r)
      for (int i = 0; i < kWide; ++i) sums[r][i] = P::all(0);
    const float* a = product.a;
    for (int64_t v = 0; v < product.values; ++v, a += product.of_value, columns += stride) {
      Vector seen[kWide];
      for (int i = 0; i < kWide; ++i) seen[i] = P::load(columns + i * kLanes);
      for (int r = 0; r < kCount; ++r) {
        const Vector by = P::all(a[r * product.of_row]);
        for (int i = 0; i < kWide; ++i) sums[r][i] = P::fma(by, seen[i], sums[r][i]);
      }
    }
    for (int r = 0; r < kCount; ++r)
      for (int i = 0; i < kWide; ++i) {
        Vector made = sums[r][i];
        const int64_t at = r * y_stride + i * kLanes, count = at_most(pixels - i * kLanes);
        if (product.bias) made = P::add(made, P::all(product.bias[r]));
        if (product.z) made = P::add(made, P::load(product.z + at, count));
        if (product.relu) made = P::relu(made);
        // AMD processors store masked AVX2 vectors slowly.
        if (count == kLanes)
          P::store(y + at, made);
        else
          P::store(y + at, made, count);
      }
  }

  static void turn(const StripGradients& gradients, int64_t outputs) {
    const int64_t padded = whole(outputs);
    float* to = gradients.turned;
    for (int64_t p = 0; p < gradients.pixels; ++p, to += padded) {
      for (int64_t o = 0; o < outputs; ++o) to[o] = gradients.dy[o * gradients.stride + p];
      clear(to + outputs, padded - outputs);
    }
  }

  template <int kCount, int kWide>
  static void add_rest(int64_t rows, int64_t vectors, const float* columns, int64_t stride,
                       const float* turned, int64_t turned_stride, int64_t pixels, bool first,
                       float* dw, int64_t padded) {
    if constexpr (kCount > 1)
      if (rows < kCount)
        return add_rest<kCount - 1, kWide>(rows, vectors, columns, stride, turned, turned_stride,
                                           pixels, first, dw, padded);
    if constexpr (kWide > 1)
      if (vectors < kWide)
        return add_rest<kCount, kWide - 1>(rows, vectors, columns, stride, turned, turned_stride,
                                           pixels, first, dw, padded);
    Vector sums[kCount][kWide];
    for (int r = 0; r < kCount; ++r)
      for (int i = 0; i < kWide; ++i)
        sums[r][i] = first ? P::all(0) : P::load(dw + r * padded + i * kLanes);
#pragma GCC unroll 4
    for (int64_t p = 0; p < pixels; ++p, turned += turned_stride) {
      Vector by[kWide];
      for (int i = 0; i < kWide; ++i) by[i] = P::load(turned + i * kLanes);
      for (int r = 0; r < kCount; ++r) {
        const Vector value = P::all(columns[r * stride + p]);
        for (int i = 0; i < kWide; ++i) sums[r][i] = P::fma(value, by[i], sums[r][i]);
      }
    }
    for (int r = 0; r < kCount; ++r)
      for (int i = 0; i < kWide; ++i) P::store(dw + r * padded + i * kLanes, sums[r][i]);
  }

  // Sums vectors of pixels, and adds up each vector at the end.
  template <int kCount, int kOutputs>
  static void add_few(int64_t rows, int64_t outputs, const float* columns, int64_t stride,
                      const StripGradients& gradients, int64_t output, bool first, float* dw,
                      int64_t padded) {
    if constexpr (kCount > 1)
      if (rows < kCount)
        return add_few<kCount - 1, kOutputs>(rows, outputs, columns, stride, gradients, output,
                                             first, dw, padded);
    if constexpr (kOutputs > 1)
      if (outputs < kOutputs)
        return add_few<kCount, kOutputs - 1>(rows, outputs, columns, stride, gradients, output,
                                             first, dw, padded);
    Vector sums[kCount][kOutputs][kParts];
    for (int r = 0; r < kCount; ++r)
      for (int o = 0; o < kOutputs; ++o)
        for (int i = 0; i < kParts; ++i) sums[r][o][i] = P::all(0);
    const float* dy = gradients.dy + output * gradients.stride;
    for (int64_t p = 0; p < gradients.pixels; p += kSixteen)
      for (int i = 0; i < kParts; ++i) {
        const int64_t at = p + i * kLanes, left = gradients.pixels - at;
        if (left <= 0) break;
        Vector by[kOutputs];
        for (int o = 0; o < kOutputs; ++o)
          by[o] = P::load(dy + o * gradients.stride + at, at_most(left));
        for (int r = 0; r < kCount; ++r) {
          const Vector value = P::load(columns + r * stride + at);
          for (int o = 0; o < kOutputs; ++o) sums[r][o][i] = P::fma(value, by[o], sums[r][o][i]);
        }
      }
    for (int r = 0; r < kCount; ++r)
      for (int o = 0; o < kOutputs; ++o) {
        float& to = dw[r * padded + o];
        to = (first ? 0 : to) + sum_of(sums[r][o]);
      }
  }
};

}  // namespace lockstep::im2col
