// Two sums over each channel of images, in two launches: over pieces, by many blocks; then over the
// pieces, by channel, always in the same order.
#pragma once

#include "operators/kit/tiles_cuda.h"

namespace lockstep {

template <class Real>
struct Both {
  Real x, y;
};

// The sums of a piece, for each channel, to partial[piece][channel]. terms.of(channel), made once
// for a thread's channels, loads the pack at a place and adds both terms of its elements; kUnroll
// packs are loaded at once.
template <class Tiles, int kUnroll, class Terms>
struct PartialSums {
  using Real = typename Tiles::Real;
  static constexpr int kSums = Tiles::kPerPack;
  Terms terms;
  Both<Real>* partial;
  __device__ void operator()(const Tiles& tiles) const {
    __shared__ Both<Real> shared[kSums][kTileThreads];
    const int64_t channel = tiles.channel();
    const bool inside = channel < tiles.channels;
    Both<Real> mine[kSums] = {};
    if (inside) {
      const auto add = terms.of(tiles, channel);
      tiles.template visit<kUnroll>(
          [&](int64_t at) { return add.load(at); },
          [&](int64_t at, const auto& loaded) { add.add(at, loaded, mine); });
    }
    for (int s = 0; s < kSums; ++s) shared[s][threadIdx.x] = mine[s];
    __syncthreads();
    for (int half = kTileThreads / 2; half >= tiles.columns(); half /= 2) {
      if (static_cast<int>(threadIdx.x) < half)
        for (int s = 0; s < kSums; ++s) {
          Both<Real>& sum = shared[s][threadIdx.x];
          const Both<Real>& other = shared[s][threadIdx.x + half];
          sum.x += other.x;
          sum.y += other.y;
        }
      __syncthreads();
    }
    if (!inside || static_cast<int>(threadIdx.x) >= tiles.columns()) return;
    for (int s = 0; s < kSums; ++s)
      partial[tiles.piece() * tiles.channels + channel + s] = shared[s][threadIdx.x];
  }
};

// Both totals of a channel, computed by all threads of a block.
template <class Tiles>
__device__ Both<double> total_of(const Both<typename Tiles::Real>* partial, const Tiles& tiles,
                                 int64_t channel) {
  const auto plus = [](double x, double y) { return x + y; };
  double a = 0, b = 0;
  for (int64_t piece = threadIdx.x; piece < tiles.pieces; piece += kFoldThreads) {
    const auto part = partial[piece * tiles.channels + channel];
    a += part.x;
    b += part.y;
  }
  a = fold_block(a, plus);
  b = fold_block(b, plus);
  return {a, b};
}

template <class Tiles>
std::size_t bytes_of_partial(const Tiles& tiles) {
  return static_cast<std::size_t>(tiles.pieces * tiles.channels) *
         sizeof(Both<typename Tiles::Real>);
}

}  // namespace lockstep
