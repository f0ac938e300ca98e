// SPDX-License-Identifier: Apache-2.0
#include "operators/pool/max_planes.h"

#include <algorithm>
#include <array>
#include <limits>

#include "operators/kit/simd/pack.h"
#include "operators/pool/planes.h"

namespace lockstep {
namespace {

// True if `value` replaces the maximum: NaN is above all numbers, and the first of equal values
// stays. For floats and Fours.
auto is_above(auto value, auto most) {
  return (value > most) | ((value != value) & (most == most));
}

// The offset of the maximum in a window of `rows` by `columns` that starts at x.
inline int64_t place_of_most(const float* x, int64_t width, int64_t rows, int64_t columns) {
  int64_t place = 0;
  float most = x[0];
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) {
      const float value = x[r * width + c];
      const bool above = is_above(value, most);
      place = above ? r * width + c : place;
      most = above ? value : most;
    }
  return place;
}

Four four_from(const float* at) { return Pack<4>::load(at).part[0]; }

// Four neighbouring 2x2 windows: the first value of each, the second value of each, ..
using FourWindows = std::array<Four, 4>;

FourWindows windows_from(const float* x, int64_t width) {
  FourWindows values;
  for (std::size_t r = 0; r < 2; ++r, x += width) {
    const Four left = four_from(x), right = four_from(x + 4);
    values[2 * r] = __builtin_shufflevector(left, right, 0, 2, 4, 6);
    values[2 * r + 1] = __builtin_shufflevector(left, right, 1, 3, 5, 7);
  }
  return values;
}

void maxima_of_pairs(const float* x, int64_t width, float* y) {
  const FourWindows values = windows_from(x, width);
  Four most = values[0];
  for (std::size_t k = 1; k < 4; ++k) most = chosen(is_above(values[k], most), values[k], most);
  Pack<4>{most}.store(y);
}

class MaxOfPlanes {
 public:
  explicit MaxOfPlanes(const PooledPlanes& planes) : planes_(planes) {}

  void run(const float* x, float* y) const {
    const PooledAxis &rows = planes_.rows, &columns = planes_.columns;
    const bool pairs = planes_.square(2) && columns.stride == 2;
    const int64_t first = columns.first_whole(), last = columns.end_of_whole();
    for (int64_t row = 0; row < rows.out; ++row, y += columns.out) {
      const bool whole = row >= rows.first_whole() && row < rows.end_of_whole();
      if (!whole || !pairs || last - first < 4) {
        single(x, row, 0, columns.out, y);
        continue;
      }
      const float* from = x + rows.begin(row) * columns.in + columns.begin(first);
      single(x, row, 0, first, y);
      for (int64_t i = 0; i < last - first; i += 4) {
        const int64_t at = std::min(i, last - first - 4);  // the last four overlap others
        maxima_of_pairs(from + 2 * at, columns.in, y + first + at);
      }
      single(x, row, last, columns.out, y);
    }
  }

 private:
  void single(const float* x, int64_t row, int64_t begin, int64_t end, float* y) const {
    const PooledAxis &rows = planes_.rows, &columns = planes_.columns;
    const int64_t top = rows.begin(row), height = rows.end(row) - top;
    for (int64_t column = begin; column < end; ++column) {
      const int64_t left = columns.begin(column), width = columns.end(column) - left;
      const float* window = x + top * columns.in + left;
      y[column] = height > 0 && width > 0 ? window[place_of_most(window, columns.in, height, width)]
                                          : -std::numeric_limits<float>::infinity();
    }
  }

  PooledPlanes planes_;
};

// The gradients of four whole 2x2 windows that do not overlap: each element is in one window.
void gradients_of_pairs(const float* dy, const float* x, int64_t width, float* dx) {
  const FourWindows value = windows_from(x, width);
  Four gradient[4] = {four_from(dy)}, most = value[0];
  for (std::size_t k = 1; k < 4; ++k) {
    const FourMasks above = is_above(value[k], most);
    most = chosen(above, value[k], most);
    for (std::size_t before = 0; before < k; ++before)
      gradient[before] = kept_where(~above, gradient[before]);
    gradient[k] = kept_where(above, four_from(dy));
  }
  for (int r = 0; r < 2; ++r) {
    const Four even = gradient[2 * r], odd = gradient[2 * r + 1];
    const Four left = __builtin_shufflevector(even, odd, 0, 4, 1, 5),
               right = __builtin_shufflevector(even, odd, 2, 6, 3, 7);
    Pack<4>{left}.store(dx + r * width);
    Pack<4>{right}.store(dx + r * width + 4);
  }
}

class GradientOfPlanes {
 public:
  explicit GradientOfPlanes(const PooledPlanes& planes) : planes_(planes) {}

  // Adds gradients in the order of windows.
  void run(const float* dy, const float* x, float* dx) const {
    const PooledAxis &rows = planes_.rows, &columns = planes_.columns;
    const bool pairs = planes_.square(2) && rows.stride == 2 && columns.stride == 2;
    const int64_t first = columns.first_whole(), last = columns.end_of_whole();
    std::fill(dx, dx + rows.in * columns.in, 0.0F);
    for (int64_t row = 0; row < rows.out; ++row, dy += columns.out) {
      const bool whole = row >= rows.first_whole() && row < rows.end_of_whole();
      if (!whole || !pairs) {
        single(dy, x, row, 0, columns.out, dx);
        continue;
      }
      const int64_t at = rows.begin(row) * columns.in + columns.begin(first);
      single(dy, x, row, 0, first, dx);
      int64_t column = first;
      for (; column + 4 <= last; column += 4)
        gradients_of_pairs(dy + column, x + at + 2 * (column - first), columns.in,
                           dx + at + 2 * (column - first));
      single(dy, x, row, column, columns.out, dx);
    }
  }

 private:
  void single(const float* dy, const float* x, int64_t row, int64_t begin, int64_t end,
              float* dx) const {
    const PooledAxis &rows = planes_.rows, &columns = planes_.columns;
    const int64_t top = rows.begin(row), height = rows.end(row) - top;
    for (int64_t column = begin; column < end; ++column) {
      const int64_t left = columns.begin(column), width = columns.end(column) - left;
      if (height <= 0 || width <= 0) continue;
      const int64_t at = top * columns.in + left;
      dx[at + place_of_most(x + at, columns.in, height, width)] += dy[column];
    }
  }

  PooledPlanes planes_;
};

}  // namespace

std::string not_row_major_planes(const KernelRequest& request) {
  for (const TensorDesc& operand : request.in)
    if (operand.layout.is_blocks()) return "takes row-major planes, not channel blocks";
  return not_plain_windows(request);
}

std::unique_ptr<Kernel> max_of_planes(const KernelRequest& request) {
  const PooledPlanes planes(request, request.in[0].dims, request.out[0].dims);
  return make_kernel(
      [planes, one = MaxOfPlanes(planes)](const KernelArgs& args) {
        const int64_t from = planes.rows.in * planes.columns.in,
                      to = planes.rows.out * planes.columns.out;
        planes.visit([&](int64_t begin, int64_t end) {
          for (int64_t p = begin; p < end; ++p)
            one.run(args.in[0].as<const float>() + p * from, args.out[0].as<float>() + p * to);
        });
      },
      "row-major planes");
}

std::unique_ptr<Kernel> max_of_planes_grad(const KernelRequest& request) {
  const PooledPlanes planes(request, request.in[1].dims, request.in[0].dims);
  return make_kernel(
      [planes, one = GradientOfPlanes(planes)](const KernelArgs& args) {
        const int64_t small = planes.rows.out * planes.columns.out,
                      large = planes.rows.in * planes.columns.in;
        planes.visit([&](int64_t begin, int64_t end) {
          for (int64_t p = begin; p < end; ++p)
            one.run(args.in[0].as<const float>() + p * small,
                    args.in[1].as<const float>() + p * large, args.out[0].as<float>() + p * large);
        });
      },
      "row-major planes");
}

}  // namespace lockstep
