// SPDX-License-Identifier: Apache-2.0
// Compiled for one kind of processor: nothing here may be shared with other files, so no function
// of the standard library is used.
#include "operators/kit/simd/avx512.h"
#include "operators/pool/max_loops.h"

namespace lockstep::max_pooled {
namespace {

using V = Avx512;
using Vector = V::Vector;

// The numbers of 16 maxima in their windows. The numbering includes pixels in padding.
using Places = __m512i;

Places everywhere(int64_t number) { return _mm512_set1_epi32(static_cast<int>(number)); }

struct Most {
  Vector value;
  Places place;
};

// The first of equal values is the maximum, and NaN is above all numbers.
Most most_of(const Most& first, const Most& second) {
  const __mmask16 is_number = _mm512_cmp_ps_mask(first.value, first.value, _CMP_ORD_Q),
                  above =
                      _mm512_mask_cmp_ps_mask(is_number, second.value, first.value, _CMP_NLE_UQ);
  return {_mm512_mask_mov_ps(first.value, above, second.value),
          _mm512_mask_mov_epi32(first.place, above, second.place)};
}

// The maximum of the kCount values from kFirst on. The maxima of halves are compared: a chain of
// comparisons would have a longer latency.
template <int kFirst, int kCount>
[[gnu::always_inline]] inline Most most_of(const Vector* values) {
  if constexpr (kCount == 1)
    return {values[kFirst], everywhere(kFirst)};
  else
    return most_of(most_of<kFirst, kCount / 2>(values),
                   most_of<kFirst + kCount / 2, kCount - kCount / 2>(values));
}

Vector add_where(__mmask16 mask, Vector sum, Vector value) {
  return _mm512_mask_add_ps(sum, mask, sum, value);
}

struct Range {
  int64_t begin, end;
};
Range pixels_of(const AxisOfWindows& axis, int64_t window) {
  const int64_t begin = window * axis.stride - axis.pad, end = begin + axis.kernel;
  return {begin < 0 ? 0 : begin, end < axis.in ? end : axis.in};
}
Range windows_over(const AxisOfWindows& axis, int64_t pixel) {
  const int64_t at = pixel + axis.pad, begun = at / axis.stride + 1;
  return {at < axis.kernel ? 0 : (at - axis.kernel) / axis.stride + 1,
          begun < axis.out ? begun : axis.out};
}

// Windows of kKernel x kKernel with strides of 2, or any windows if kKernel is 0. When a row of dx
// is computed, the maxima of all windows that reach the row are known. Each element of dx is a sum
// in the order of windows and is rounded once. A version that added window after window to sums in
// memory took three times as long.
template <int kKernel, class T>
class Gradient {
 public:
  explicit Gradient(const GradientOfMaxima<T>& of)
      : of_(of), rows_(of.rows), columns_(of.columns), across_(of.columns.in * kChannels) {}

  void run() const {
    int64_t known = 0;
    for (int64_t row = 0; row < rows_.in; ++row) {
      const Range windows = windows_over(rows_, row);
      for (; known < windows.end; ++known) find_places(known);
      T* dx = of_.dx + row * across_;
      if (kKernel && windows.end - windows.begin == 1)
        add_up<1>(row, windows, dx);
      else if (kKernel == 3 && windows.end - windows.begin == 2)
        add_up<2>(row, windows, dx);
      else
        add_up(row, windows, {0, columns_.in}, dx);
    }
  }

 private:
  int32_t* places_of(int64_t row) const {
    return of_.places + row % of_.rows_of_places * columns_.out * kChannels;
  }

  void find_places(int64_t row) const {
    const Range height = pixels_of(rows_, row);
    const bool whole = height.end - height.begin == kKernel;
    int32_t* places = places_of(row);
    for (int64_t column = 0; column < columns_.out; ++column, places += kChannels) {
      const Range width = pixels_of(columns_, column);
      const T* x = of_.x + height.begin * across_ + width.begin * kChannels;
      if (kKernel && whole && width.end - width.begin == kKernel) {
        _mm512_storeu_si512(places, place_in_whole(x));
        V::fetch<2>(x + kKernel * across_);  // first needed by the next row of windows
        V::fetch<2>(x + (kKernel + 1) * across_);
      } else if (height.begin < height.end && width.begin < width.end) {
        _mm512_storeu_si512(places, place_in(row, column, height, width));
      }
    }
  }
  Places place_in_whole(const T* x) const {
    constexpr int kSize = kKernel ? kKernel : 1;
    Vector values[kSize * kSize];
    for (int r = 0; r < kSize; ++r)
      for (int c = 0; c < kSize; ++c)
        values[r * kSize + c] = V::load(x + r * across_ + c * kChannels);
    return most_of<0, kSize * kSize>(values).place;
  }
  Places place_in(int64_t row, int64_t column, Range height, Range width) const {
    const int64_t top = row * rows_.stride - rows_.pad,
                  left = column * columns_.stride - columns_.pad;
    const auto at = [&](int64_t r, int64_t c) {
      return Most{V::load(of_.x + r * across_ + c * kChannels),
                  everywhere((r - top) * columns_.kernel + c - left)};
    };
    Most most = at(height.begin, width.begin);
    for (int64_t r = height.begin; r < height.end; ++r)
      for (int64_t c = width.begin; c < width.end; ++c) most = most_of(most, at(r, c));
    return most.place;
  }

  // Adds a window's dy to the lanes with their maximum at pixel `number` of the window.
  static Vector with(Vector sum, const int32_t* places, const T* dy, int64_t number) {
    return add_where(_mm512_cmpeq_epi32_mask(_mm512_loadu_si512(places), everywhere(number)), sum,
                     V::load(dy));
  }
  // The number of the row's first pixel in windows of row `row_of_windows`, less the column's
  // offset.
  int64_t number_of(int64_t row, int64_t row_of_windows) const {
    return (row + rows_.pad - row_of_windows * rows_.stride) * columns_.kernel;
  }
  const T* dy_of(int64_t row) const { return of_.dy + row * columns_.out * kChannels; }

  void add_up(int64_t row, Range windows, Range pixels, T* dx) const {
    for (int64_t column = pixels.begin; column < pixels.end; ++column) {
      const Range across = windows_over(columns_, column);
      Vector sum = V::all(0);
      for (int64_t i = windows.begin; i < windows.end; ++i)
        for (int64_t j = across.begin; j < across.end; ++j)
          sum = with(sum, places_of(i) + j * kChannels, dy_of(i) + j * kChannels,
                     number_of(row, i) + column + columns_.pad - j * columns_.stride);
      V::store(dx + column * kChannels, sum);
    }
  }
  // Straight-line code for rows under kRows rows of windows: for the two pixels at which a window
  // starts, if all windows that could reach these pixels exist.
  template <int kRows>
  void add_up(int64_t row, Range windows, T* dx) const {
    constexpr int64_t kEarlier = (kKernel - 1) / 2;
    const int64_t begin = kEarlier > (columns_.pad + 1) / 2 ? kEarlier : (columns_.pad + 1) / 2,
                  beyond = (columns_.in + columns_.pad) / 2,
                  end = beyond < columns_.out ? beyond : columns_.out;
    if (begin >= end) return add_up(row, windows, {0, columns_.in}, dx);
    const int32_t* places[kRows];
    const T* dy[kRows];
    int64_t number[kRows];
    for (int i = 0; i < kRows; ++i) {
      places[i] = places_of(windows.begin + i);
      dy[i] = dy_of(windows.begin + i);
      number[i] = number_of(row, windows.begin + i);
    }
    const auto sum_at = [&]<int kColumn>(int64_t window) {
      Vector sum = V::all(0);
      for (int i = 0; i < kRows; ++i)
        for (int64_t back = (kKernel - 1 - kColumn) / 2; back >= 0; --back)
          sum = with(sum, places[i] + (window - back) * kChannels,
                     dy[i] + (window - back) * kChannels, number[i] + kColumn + 2 * back);
      return sum;
    };
    const int64_t left = 2 * begin - columns_.pad, right = 2 * end - columns_.pad;
    add_up(row, windows, {0, left}, dx);
    T* at = dx + left * kChannels;
    for (int64_t window = begin; window < end; ++window, at += 2 * kChannels) {
      V::fetch<2>(at + 2 * across_);
      V::store(at, sum_at.template operator()<0>(window));
      V::store(at + kChannels, sum_at.template operator()<1>(window));
    }
    add_up(row, windows, {right, columns_.in}, dx);
  }

  GradientOfMaxima<T> of_;
  AxisOfWindows rows_, columns_;
  int64_t across_;  // elements between neighbouring rows of x
};

}  // namespace

template <class T>
void avx512_max_grad(const GradientOfMaxima<T>& plane) {
  const auto are = [&](int64_t kernel, int64_t stride) {
    return plane.rows.kernel == kernel && plane.columns.kernel == kernel &&
           plane.rows.stride == stride && plane.columns.stride == stride;
  };
  if (are(3, 2)) return Gradient<3, T>(plane).run();
  if (are(2, 2)) return Gradient<2, T>(plane).run();
  Gradient<0, T>(plane).run();
}

template void avx512_max_grad(const GradientOfMaxima<float>&);
template void avx512_max_grad(const GradientOfMaxima<BFloat16>&);

}  // namespace lockstep::max_pooled
