// SPDX-License-Identifier: Apache-2.0
#include "operators/pool/max_packs_cuda.h"

#include <cmath>

#include "operators/kit/dispatch.h"
#include "operators/kit/elements_cuda.h"

namespace lockstep {
namespace {

constexpr int kPackThreads = 256;
constexpr int kStep = 2;  // stride of windows

// The rows of a grid are the rows of the images that its threads write. A block processes one row.
// A line of `columns` threads, a power of two, covers the channels; the lines of threads cover the
// row.
struct PackedRows {
  int x_rows, x_columns, y_rows, y_columns, top, left, channels;
  int columns = 1, shift = 0;
  unsigned column_blocks, images;

  PackedRows(const Window& window, const TensorDesc& x, const TensorDesc& y, int pack)
      : x_rows(static_cast<int>(x.dims[2])),
        x_columns(static_cast<int>(x.dims[3])),
        y_rows(static_cast<int>(y.dims[2])),
        y_columns(static_cast<int>(y.dims[3])),
        top(static_cast<int>(window.pads[0])),
        left(static_cast<int>(window.pads[1])),
        channels(static_cast<int>(x.dims[1])),
        images(static_cast<unsigned>(x.dims[0])) {
    const int packs = channels / pack;
    for (; packs % (2 * columns) == 0 && columns < 32; columns *= 2) ++shift;
    column_blocks = static_cast<unsigned>(packs / columns);
  }
  dim3 grid(int rows) const { return {column_blocks, static_cast<unsigned>(rows), images}; }

  __device__ int channel(int pack) const {
    return (static_cast<int>(blockIdx.x) * columns +
            (static_cast<int>(threadIdx.x) & (columns - 1))) *
           pack;
  }
  __device__ int first_place() const { return static_cast<int>(threadIdx.x) >> shift; }
  __device__ int places() const { return kPackThreads >> shift; }
  // The offset of this thread's channels in an image of `rows` rows and `columns_of_row` columns.
  __device__ int64_t image(int rows, int columns_of_row, int pack) const {
    return static_cast<int64_t>(blockIdx.z) * rows * columns_of_row * channels + channel(pack);
  }
};

template <class T, int kKernel, bool kPlaces>
struct PackedMaximum {
  static constexpr int kCount = kPack<T>;
  PackedRows rows;
  const T* x;
  T* y;
  uint8_t* places;

  // The number of the window's first position outside padding.
  __device__ unsigned first_of(int row, int column) const {
    const int a = row < 0 ? -row : 0, b = column < 0 ? -column : 0;
    const bool any = row + a < rows.x_rows && column + b < rows.x_columns;
    return any ? static_cast<unsigned>(a * kKernel + b) : kNoPlace;
  }
  __device__ void operator()() const {
    const T* const image = x + rows.image(rows.x_rows, rows.x_columns, kCount);
    const int row = static_cast<int>(blockIdx.y) * kStep - rows.top;
    const int64_t to = rows.image(rows.y_rows, rows.y_columns, kCount);
#pragma unroll 1
    for (int i = rows.first_place(); i < rows.y_columns; i += rows.places()) {
      const int column = i * kStep - rows.left;
      float most[kCount];
      unsigned best[kCount];
      for (int e = 0; e < kCount; ++e) {
        most[e] = -INFINITY;
        best[e] = first_of(row, column);
      }
#pragma unroll 1
      for (int a = 0; a < kKernel; ++a)
#pragma unroll
        for (int b = 0; b < kKernel; ++b) {
          const int u = row + a, v = column + b;
          if (u < 0 || v < 0 || u >= rows.x_rows || v >= rows.x_columns) continue;
          const auto pack = load<T, kCount>(image + (u * rows.x_columns + v) * rows.channels);
          for (int e = 0; e < kCount; ++e) {
            const float value = computed(pack.at[e]);
            const bool more = !(value <= most[e]) && most[e] == most[e];  // the first NaN wins
            most[e] = more ? value : most[e];
            best[e] = more ? static_cast<unsigned>(a * kKernel + b) : best[e];
          }
        }
      Pack<T, kCount> result;
      for (int e = 0; e < kCount; ++e) result.at[e] = stored<T>(most[e]);
      const int64_t at = to + (static_cast<int>(blockIdx.y) * rows.y_columns + i) * rows.channels;
      store<T, kCount>(y + at, result);
      if constexpr (kPlaces) {
        Pack<uint8_t, kCount> kept;
        for (int e = 0; e < kCount; ++e) kept.at[e] = static_cast<uint8_t>(best[e]);
        store<uint8_t, kCount>(places + at, kept);
      }
    }
  }
};

// Each element of dx visits the windows that contain it, at most 4, in their order.
template <class T, int kKernel>
struct PackedMaximumGrad {
  static constexpr int kCount = kPack<T>;
  static constexpr int kReach = (kKernel + kStep - 1) / kStep;  // windows along a dimension
  PackedRows rows;
  const T* dy;
  const uint8_t* places;
  T* dx;

  // Adds a window's dy to the lanes with their maximum at position `number`. Four numbers are
  // compared as one word.
  __device__ void add(const uint8_t* kept, const T* from, uint32_t number,
                      float (&total)[kCount]) const {
    const auto words = load<uint32_t, kCount / 4>(reinterpret_cast<const uint32_t*>(kept));
    const auto pack = load<T, kCount>(from);
#pragma unroll
    for (int e = 0; e < kCount; ++e) {
      const uint32_t other = (words.at[e / 4] ^ number * 0x01010101U) & 0xFFU << e % 4 * 8;
      if (other == 0) total[e] += computed(pack.at[e]);
    }
  }
  __device__ void operator()() const {
    const int64_t image = rows.image(rows.y_rows, rows.y_columns, kCount);
    const uint8_t* const kept = places + image;
    const T* const from = dy + image;
    T* const to = dx + rows.image(rows.x_rows, rows.x_columns, kCount);
    const int row = static_cast<int>(blockIdx.y) + rows.top;
#pragma unroll 1
    for (int i = rows.first_place(); i < rows.x_columns; i += rows.places()) {
      const int column = i + rows.left;
      float total[kCount] = {};
#pragma unroll 1
      for (int back = kReach - 1; back >= 0; --back) {
        const int u = row / kStep - back, a = row - u * kStep;  // the row of the element in the
                                                                // window
        if (u < 0 || u >= rows.y_rows || a >= kKernel) continue;
#pragma unroll
        for (int left = kReach - 1; left >= 0; --left) {
          const int v = column / kStep - left, b = column - v * kStep;
          if (v < 0 || v >= rows.y_columns || b >= kKernel) continue;
          const int at = (u * rows.y_columns + v) * rows.channels;
          add(kept + at, from + at, static_cast<uint32_t>(a * kKernel + b), total);
        }
      }
      Pack<T, kCount> result;
      for (int e = 0; e < kCount; ++e) result.at[e] = stored<T>(total[e]);
      const int at = (static_cast<int>(blockIdx.y) * rows.x_columns + i) * rows.channels;
      store<T, kCount>(to + at, result);
    }
  }
};

template <class Body>
__global__ void __launch_bounds__(kPackThreads) run_packed_rows(Body body) {
  body();
}
template <class Body>
void for_packed_rows(const KernelArgs& args, dim3 grid, const Body& body) {
  launch(run_packed_rows<Body>, grid, kPackThreads, stream_of(args), body);
}

// Calls make.operator()<T, kernel size>().
template <class Make>
std::unique_ptr<Kernel> of_packs(DType dtype, const Window& window, const Make& make) {
  return dispatch<TensorFloats>(dtype, [&]<class Host>() {
    using T = DeviceType<Host>;
    if (window.kernel[0] == 2) return make.template operator()<T, 2>();
    return make.template operator()<T, 3>();
  });
}

constexpr const char* kDescription = "channels last, in packs";

}  // namespace

bool takes_packs(const Window& window, const TensorDesc& x, const TensorDesc& y) {
  constexpr int64_t kMostOfGrid = 65535;
  if (x.dims.size() != 4 || !x.layout.is_channels_last() || x.count() == 0 || y.count() == 0)
    return false;
  const auto pack = static_cast<int64_t>(16 / size_of(x.dtype));
  const auto fits_int = [](const TensorDesc& of) { return of.count() / of.dims[0] <= INT32_MAX; };
  const bool fits = x.dims[0] <= kMostOfGrid && x.dims[2] <= kMostOfGrid &&
                    y.dims[2] <= kMostOfGrid && fits_int(x) && fits_int(y) && x.dims[1] % pack == 0;
  return fits && (window.kernel == Dims{2, 2} || window.kernel == Dims{3, 3}) &&
         window.strides == Dims{kStep, kStep} && window.dilations == Dims{1, 1};
}

std::unique_ptr<Kernel> max_of_packs(const KernelRequest& request, const Window& window) {
  return of_packs(request.in[0].dtype, window, [&]<class T, int kKernel>() {
    const PackedRows rows(window, request.in[0], request.out[0], kPack<T>);
    const bool keeps = request.out.size() > 1;
    auto run = [=](const KernelArgs& args) {
      const T* x = args.in[0].as<const T>();
      T* y = args.out[0].as<T>();
      const dim3 grid = rows.grid(rows.y_rows);
      if (keeps)
        for_packed_rows(args, grid,
                        PackedMaximum<T, kKernel, true>{rows, x, y, args.out[1].as<uint8_t>()});
      else
        for_packed_rows(args, grid, PackedMaximum<T, kKernel, false>{rows, x, y, nullptr});
    };
    return make_kernel(run, kDescription);
  });
}

std::unique_ptr<Kernel> max_of_packs_grad(const KernelRequest& request, const Window& window) {
  return of_packs(request.in[0].dtype, window, [&]<class T, int kKernel>() {
    const PackedRows rows(window, request.out[0], request.in[0], kPack<T>);
    auto run = [=](const KernelArgs& args) {
      for_packed_rows(
          args, rows.grid(rows.x_rows),
          PackedMaximumGrad<T, kKernel>{rows, args.in[0].as<const T>(),
                                        args.in[1].as<const uint8_t>(), args.out[0].as<T>()});
    };
    return make_kernel(run, kDescription);
  });
}

}  // namespace lockstep
