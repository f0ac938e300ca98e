// See loops.h. P has a processor's vectors of floats: kLanes of them, arithmetic, loads and stores
// of the first few lanes, and as many registers as kRows x kVectors sums need.
//
// For files that are compiled for one kind of processor: nothing here may be shared with others,
// hence no function of the standard library.
#pragma once

#include "operators/conv/columns/loops.h"

namespace lockstep::columns {

template <class P>
class ColumnLoopsOf final : public ColumnLoops {
 public:
  int lanes() const override { return kLanes; }
  const char* name() const override { return P::kName; }

  void columns(const float* x, const Shapes& shapes, const Strip& strip, float* to) const override {
    const int64_t pixels = strip.rows * shapes.out_width;
    each_tap(shapes, strip, [&](const Seen& seen, int64_t first, int64_t shift) {
      const bool whole = seen.rows == strip.rows && seen.pixels == shapes.out_width;
      for (int64_t c = 0; c < shapes.channels; ++c) {
        float* row = to + seen.value(shapes, c) * strip.stride;
        clear(row + (whole ? pixels : 0), strip.stride - (whole ? pixels : 0));
        const float* plane = x + c * shapes.height * shapes.width + shift;
        read(plane, shapes, seen, row + first);
      }
    });
  }

  void add_columns(const float* from, const Shapes& shapes, const Strip& strip,
                   float* dx) const override {
    each_tap(shapes, strip, [&](const Seen& seen, int64_t first, int64_t shift) {
      for (int64_t c = 0; c < shapes.channels; ++c)
        add(from + seen.value(shapes, c) * strip.stride + first, shapes, seen,
            dx + c * shapes.height * shapes.width + shift);
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

  void turn(const float* dy, int64_t dy_stride, int64_t outputs, int64_t pixels,
            float* to) const override {
    const int64_t padded = whole(outputs);
    for (int64_t p = 0; p < pixels; ++p) {
      for (int64_t o = 0; o < outputs; ++o) to[p * padded + o] = dy[o * dy_stride + p];
      clear(to + p * padded + outputs, padded - outputs);
    }
  }

  void add_products(const float* columns, int64_t stride, const float* turned, int64_t values,
                    int64_t pixels, int64_t outputs, bool first, float* dw) const override {
    const int64_t padded = whole(outputs);
    for (int64_t v = 0; v < values; v += kRows)
      for (int64_t o = 0, vectors = 0; o < padded; o += vectors * kLanes) {
        vectors = at_once((padded - o) / kLanes);
        add_rest<kRows, kVectors>(values - v, vectors, columns + v * stride, stride, turned + o,
                                  padded, pixels, first, dw + v * padded + o);
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
  static constexpr int kLanes = P::kLanes, kRows = P::kRows, kVectors = P::kVectors;

  static int64_t whole(int64_t floats) { return (floats + kLanes - 1) / kLanes * kLanes; }
  // Rows are short, and a masked store beyond a row's end delays the loads of the next row.
  static constexpr int64_t kEight = 8;
  using Eight [[gnu::vector_size(32)]] = float;
  static Eight eight(const float* x) {
    Eight values;
    __builtin_memcpy(&values, x, sizeof values);
    return values;
  }
  static void store_eight(float* y, Eight values) { __builtin_memcpy(y, &values, sizeof values); }

  // How many of the vectors that are left. Never all but one: the sums of one alone are so few that
  // each addition waits for the one before it.
  static int64_t at_once(int64_t left) {
    return left == kVectors + 1 ? kVectors - 1 : left < kVectors ? left : kVectors;
  }
  static int64_t at_most(int64_t count) { return count < kLanes ? count : kLanes; }

  // The part of a strip that sees the input, not its padding, at one tap of the window.
  struct Seen {
    int64_t tap;
    int64_t rows, pixels;  // of the result, pixels in each row

    int64_t value(const Shapes& shapes, int64_t channel) const {
      return channel * shapes.window_height * shapes.window_width + tap;
    }
  };
  struct Span {
    int64_t begin, end;
  };
  // Those of [begin, end) whose place `step` * i + `offset` is in [0, size).
  static Span inside(int64_t begin, int64_t end, int64_t step, int64_t offset, int64_t size) {
    while (begin < end && begin * step + offset < 0) ++begin;
    while (begin < end && (end - 1) * step + offset >= size) --end;
    return {begin, end};
  }
  // visit(seen, its first pixel in the strip, that pixel's place in a plane) for all taps. Taps are
  // the outer loop, so that additions to the same place are far apart.
  template <class Visit>
  static void each_tap(const Shapes& shapes, const Strip& strip, const Visit& visit) {
    for (int64_t i = 0; i < shapes.window_height; ++i)
      for (int64_t j = 0; j < shapes.window_width; ++j) {
        const int64_t down = i * shapes.hole_down - shapes.top;
        const int64_t across = j * shapes.hole_across - shapes.left;
        const Span rows =
            inside(strip.first, strip.first + strip.rows, shapes.step_down, down, shapes.height);
        const Span pixels = inside(0, shapes.out_width, shapes.step_across, across, shapes.width);
        visit(Seen{i * shapes.window_width + j, rows.end - rows.begin, pixels.end - pixels.begin},
              (rows.begin - strip.first) * shapes.out_width + pixels.begin,
              (rows.begin * shapes.step_down + down) * shapes.width +
                  pixels.begin * shapes.step_across + across);
      }
  }

  static void clear(float* to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] = 0;
  }

  static void read(const float* x, const Shapes& shapes, const Seen& seen, float* to) {
    const int64_t down = shapes.step_down * shapes.width, step = shapes.step_across;
    for (int64_t r = 0; r < seen.rows; ++r, x += down, to += shapes.out_width) {
      if (step != 1) {
        for (int64_t i = 0; i < seen.pixels; ++i) to[i] = x[i * step];
      } else {
        int64_t i = 0;
        for (; i + kEight <= seen.pixels; i += kEight) store_eight(to + i, eight(x + i));
        for (; i < seen.pixels; ++i) to[i] = x[i];
      }
    }
  }
  static void add(const float* from, const Shapes& shapes, const Seen& seen, float* dx) {
    const int64_t down = shapes.step_down * shapes.width, step = shapes.step_across;
    for (int64_t r = 0; r < seen.rows; ++r, from += shapes.out_width, dx += down) {
      if (step != 1) {
        for (int64_t i = 0; i < seen.pixels; ++i) dx[i * step] += from[i];
      } else {
        int64_t i = 0;
        for (; i + kEight <= seen.pixels; i += kEight)
          store_eight(dx + i, eight(dx + i) + eight(from + i));
        for (; i < seen.pixels; ++i) dx[i] += from[i];
      }
    }
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
        // AMD's processors store masked vectors of AVX2 slowly.
        if (count == kLanes)
          P::store(y + at, made);
        else
          P::store(y + at, made, count);
      }
  }

  template <int kCount, int kWide>
  static void add_rest(int64_t rows, int64_t vectors, const float* columns, int64_t stride,
                       const float* turned, int64_t padded, int64_t pixels, bool first, float* dw) {
    if constexpr (kCount > 1)
      if (rows < kCount)
        return add_rest<kCount - 1, kWide>(rows, vectors, columns, stride, turned, padded, pixels,
                                           first, dw);
    if constexpr (kWide > 1)
      if (vectors < kWide)
        return add_rest<kCount, kWide - 1>(rows, vectors, columns, stride, turned, padded, pixels,
                                           first, dw);
    Vector sums[kCount][kWide];
    for (int r = 0; r < kCount; ++r)
      for (int i = 0; i < kWide; ++i)
        sums[r][i] = first ? P::all(0) : P::load(dw + r * padded + i * kLanes);
#pragma GCC unroll 4
    for (int64_t p = 0; p < pixels; ++p, turned += padded) {
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
};

}  // namespace lockstep::columns
