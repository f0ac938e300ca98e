// SPDX-License-Identifier: Apache-2.0
// The values of a plane that windows read at each tap: read to columns, or added from columns. P is
// the same as in loops_of.h; it only separates the functions of different processors.
#pragma once

#include "operators/conv/im2col/loops.h"

namespace lockstep::im2col {

template <class P>
class TapsOf {
 public:
  // The part of a strip that reads the input instead of padding, at one tap of the window.
  struct Seen {
    int64_t tap;
    int64_t rows, pixels;  // of the result, pixels in each row

    int64_t value(const Conv2d& conv, int64_t channel) const {
      return channel * conv.down.window * conv.across.window + tap;
    }
  };
  // Calls visit(seen, its first pixel in the strip, the offset of the input's pixel in a plane) for
  // all taps. Taps are the outer loop, so that additions to the same pixel are far apart.
  template <class Visit>
  static void each_tap(const Conv2d& conv, const Strip& strip, const Visit& visit) {
    for (int64_t i = 0; i < conv.down.window; ++i)
      for (int64_t j = 0; j < conv.across.window; ++j) {
        const int64_t down = i * conv.down.hole - conv.down.pad;
        const int64_t across = j * conv.across.hole - conv.across.pad;
        const Span rows =
            inside(strip.first, strip.first + strip.rows, conv.down.step, down, conv.down.image);
        const Span pixels =
            inside(0, conv.across.result, conv.across.step, across, conv.across.image);
        visit(Seen{i * conv.across.window + j, rows.end - rows.begin, pixels.end - pixels.begin},
              (rows.begin - strip.first) * conv.across.result + pixels.begin,
              (rows.begin * conv.down.step + down) * conv.across.image +
                  pixels.begin * conv.across.step + across);
      }
  }

  static void read(const float* x, const Conv2d& conv, const Seen& seen, float* to) {
    const int64_t down = conv.down.step * conv.across.image, step = conv.across.step;
    if (step != 1) {
      for (int64_t r = 0; r < seen.rows; ++r, x += down, to += conv.across.result)
        for (int64_t i = 0; i < seen.pixels; ++i) to[i] = x[i * step];
      return;
    }
    switch (seen.pixels / kEight) {
      case 1:
        return read_eights<1>(x, conv, seen, to);
      case 2:
        return read_eights<2>(x, conv, seen, to);
      case 3:
        return read_eights<3>(x, conv, seen, to);
      default:
        return read_eights<0>(x, conv, seen, to);
    }
  }
  static void add(const float* from, const Conv2d& conv, const Seen& seen, float* dx) {
    const int64_t down = conv.down.step * conv.across.image, step = conv.across.step;
    for (int64_t r = 0; r < seen.rows; ++r, from += conv.across.result, dx += down) {
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

 private:
  // Rows are short, and a masked store after a row's end would delay the loads of the next row.
  static constexpr int64_t kEight = 8;
  using Eight [[gnu::vector_size(32)]] = float;
  static Eight eight(const float* x) {
    Eight values;
    __builtin_memcpy(&values, x, sizeof values);
    return values;
  }
  static void store_eight(float* y, Eight values) { __builtin_memcpy(y, &values, sizeof values); }

  struct Span {
    int64_t begin, end;
  };
  // The indices i in [begin, end) with `step` * i + `offset` in [0, size).
  static Span inside(int64_t begin, int64_t end, int64_t step, int64_t offset, int64_t size) {
    while (begin < end && begin * step + offset < 0) ++begin;
    while (begin < end && (end - 1) * step + offset >= size) --end;
    return {begin, end};
  }

  // Reads kEights vectors of each row; 0: as many as the row has. A loop over one to three vectors
  // costs more than their copies.
  template <int kEights>
  static void read_eights(const float* x, const Conv2d& conv, const Seen& seen, float* to) {
    const int64_t down = conv.down.step * conv.across.image;
    const int64_t eights = kEights > 0 ? kEights : seen.pixels / kEight;
    for (int64_t r = 0; r < seen.rows; ++r, x += down, to += conv.across.result) {
      for (int64_t i = 0; i < eights; ++i) store_eight(to + i * kEight, eight(x + i * kEight));
      for (int64_t i = eights * kEight; i < seen.pixels; ++i) to[i] = x[i];
    }
  }
};

}  // namespace lockstep::im2col
