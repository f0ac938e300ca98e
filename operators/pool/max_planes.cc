#include "operators/pool/max_planes.h"

#include <limits>

#include "operators/pool/planes.h"

namespace lockstep {
namespace {

bool is_above(float value, float most) { return value > most || (value != value && most == most); }

// The offset of the maximum in a window of so many rows and columns, which starts at x.
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

// One row of maxima over whole windows; `x` is where the first of them starts. The compiler makes
// one loop over several windows of it where sizes are known.
template <int kKernel, int kStride>
void maxima(const float* x, int64_t width, float* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    float most = x[i * kStride];
    for (int r = 0; r < kKernel; ++r)
      for (int c = 0; c < kKernel; ++c) {
        const float value = x[r * width + i * kStride + c];
        most = ((value > most) | (value != value)) ? value : most;
      }
    y[i] = most;
  }
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
      if (!whole || !pairs) {
        single(x, row, 0, columns.out, y);
        continue;
      }
      single(x, row, 0, first, y);
      maxima<2, 2>(x + rows.begin(row) * columns.in + columns.begin(first), columns.in, y + first,
                   last - first);
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

// Adds up in the order of windows.
void add_gradients(const PooledPlanes& planes, const float* dy, const float* x, float* dx) {
  const PooledAxis &rows = planes.rows, &columns = planes.columns;
  const bool pairs = planes.square(2);
  for (int64_t row = 0; row < rows.out; ++row) {
    const int64_t top = rows.begin(row), height = rows.end(row) - top;
    for (int64_t column = 0; column < columns.out; ++column, ++dy) {
      const int64_t left = columns.begin(column), width = columns.end(column) - left;
      if (height <= 0 || width <= 0) continue;
      const int64_t at = top * columns.in + left;
      const int64_t place = pairs && height == 2 && width == 2
                                ? place_of_most(x + at, columns.in, 2, 2)
                                : place_of_most(x + at, columns.in, height, width);
      dx[at + place] += *dy;
    }
  }
}

}  // namespace

std::string not_row_major_planes(const KernelRequest& request) {
  for (const TensorDesc& operand : request.in)
    if (operand.channel_block > 1) return "takes row-major planes, not channel blocks";
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
      [planes](const KernelArgs& args) {
        const int64_t small = planes.rows.out * planes.columns.out,
                      large = planes.rows.in * planes.columns.in;
        planes.visit([&](int64_t begin, int64_t end) {
          float* dx = args.out[0].as<float>();
          std::fill(dx + begin * large, dx + end * large, 0.0F);
          for (int64_t p = begin; p < end; ++p)
            add_gradients(planes, args.in[0].as<const float>() + p * small,
                          args.in[1].as<const float>() + p * large, dx + p * large);
        });
      },
      "row-major planes");
}

}  // namespace lockstep
