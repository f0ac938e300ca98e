// Kernels for channels-last tensors: element-wise work with per-channel numbers, and sums over each
// channel. Sums take two launches: over chunks of rows, by many blocks; then over the chunks, by
// channel, always in the same order.
#pragma once

#include "operators/kit/dispatch.h"
#include "operators/kit/elements_cuda.h"

namespace lockstep {

constexpr int kTileThreads = 256;
constexpr int64_t kMostPieces = 1024;  // the most chunks of a channel's rows

// The assignment of threads: `columns` threads lie along the channels, kCount channels each;
// `lines` of such threads take a chunk's rows in turn.
struct Tiling {
  int64_t rows, channels;
  int columns, lines, column_blocks;
  int64_t pieces, rows_of_piece;

  Tiling(const TensorDesc& x, int pack) : rows(x.count() / x.dims[1]), channels(x.dims[1]) {
    const int64_t packs = channels / pack;
    columns = 1;
    while (columns < packs && columns < 32) columns *= 2;
    lines = kTileThreads / columns;
    column_blocks = static_cast<int>((packs + columns - 1) / columns);
    const int64_t wanted = std::max<int64_t>(1, kMostPieces / column_blocks);
    rows_of_piece = std::max<int64_t>((rows + wanted - 1) / wanted, lines);
    pieces = (rows + rows_of_piece - 1) / rows_of_piece;
  }
  dim3 grid() const {
    return {static_cast<unsigned>(column_blocks), static_cast<unsigned>(pieces), 1};
  }

  __device__ int64_t first_channel(int pack) const {
    return (static_cast<int64_t>(blockIdx.x) * columns + threadIdx.x % columns) * pack;
  }
  // visit(row) for the rows of this thread.
  template <class Visit>
  __device__ void for_rows(Visit visit) const {
    const int64_t begin = blockIdx.y * rows_of_piece;
    const int64_t end = begin + rows_of_piece < rows ? begin + rows_of_piece : rows;
    for (int64_t row = begin + threadIdx.x / columns; row < end; row += lines) visit(row);
  }
};

template <class Body, int kCount>
__global__ void __launch_bounds__(kTileThreads) run_tiles(Tiling tiling, Body body) {
  body(tiling, tiling.first_channel(kCount));
}

template <int kCount, class Where, class Body>
void for_tiles(const Where& where, const Tiling& tiling, const Body& body) {
  launch_blocks(run_tiles<Body, kCount>, tiling.grid(), kTileThreads, stream_of(where), tiling,
                body);
}

// Two sums over a chunk's rows, for each channel, to partial[piece][channel]. terms.of(channel),
// made once for a thread's channels, adds both terms of the elements at a place.
template <int kCount, class Terms>
struct PartialSums {
  Terms terms;
  float2* partial;
  __device__ void operator()(const Tiling& tiling, int64_t channel) const {
    __shared__ float2 shared[kTileThreads];
    const bool inside = channel < tiling.channels;
    float2 mine[kCount] = {};
    if (inside) {
      const auto add = terms.of(channel);
      tiling.for_rows([&](int64_t row) { add(row * tiling.channels + channel, mine); });
    }
    for (int e = 0; e < kCount; ++e) {
      shared[threadIdx.x] = mine[e];
      __syncthreads();
      if (inside && static_cast<int>(threadIdx.x) < tiling.columns) {
        float2 total = shared[threadIdx.x];
        for (int line = 1; line < tiling.lines; ++line) {
          const float2 other = shared[threadIdx.x + line * tiling.columns];
          total.x += other.x;
          total.y += other.y;
        }
        partial[blockIdx.y * tiling.channels + channel + e] = total;
      }
      __syncthreads();
    }
  }
};

// Both totals of a channel, computed by all threads of a block.
__device__ inline double2 total_of(const float2* partial, const Tiling& tiling, int64_t channel) {
  const auto plus = [](double x, double y) { return x + y; };
  double a = 0, b = 0;
  for (int64_t piece = threadIdx.x; piece < tiling.pieces; piece += kFoldThreads) {
    const float2 part = partial[piece * tiling.channels + channel];
    a += part.x;
    b += part.y;
  }
  a = fold_block(a, plus);
  b = fold_block(b, plus);
  return {a, b};
}

inline std::size_t bytes_of_partial(const Tiling& tiling) {
  return static_cast<std::size_t>(tiling.pieces * tiling.channels) * sizeof(float2);
}

// make.operator()<type on the device, channels per thread>()
template <class Make>
auto packed(const TensorDesc& x, const Make& make) {
  return dispatch<TensorFloats>(x.dtype, [&]<class Host>() {
    using T = DeviceType<Host>;
    if (x.dims[1] % kPack<T> == 0) return make.template operator()<T, kPack<T>>();
    return make.template operator()<T, 1>();
  });
}

}  // namespace lockstep
