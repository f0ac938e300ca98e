// SPDX-License-Identifier: Apache-2.0
// Per-channel sums over images, mostly two sums at once, in two launches. The first launch sums
// pieces, by many blocks. The second launch sums the pieces of each channel, always in the same
// order.
#pragma once

#include "operators/kit/tiles_cuda.h"

namespace lockstep {

template <class Real>
struct Both {
  Real x, y;
  __device__ Both& operator+=(const Both& other) {
    x += other.x;
    y += other.y;
    return *this;
  }
};

// Adds up the lines of a block's threads, always in the same order; the first line gets the sums.
// Call at most once in a kernel.
template <class Tiles, class Sum, int kSums>
__device__ void fold_lines(const Tiles& tiles, Sum (&mine)[kSums]) {
  __shared__ Sum shared[kSums][kTileThreads];
  for (int s = 0; s < kSums; ++s) shared[s][threadIdx.x] = mine[s];
  __syncthreads();
  for (int half = kTileThreads / 2; half >= tiles.columns(); half /= 2) {
    if (static_cast<int>(threadIdx.x) < half)
      for (int s = 0; s < kSums; ++s) shared[s][threadIdx.x] += shared[s][threadIdx.x + half];
    __syncthreads();
  }
  for (int s = 0; s < kSums; ++s) mine[s] = shared[s][threadIdx.x];
}

// True if this thread has sums after fold_lines().
template <class Tiles>
__device__ bool has_sums(const Tiles& tiles) {
  return tiles.channel() < tiles.channels && static_cast<int>(threadIdx.x) < tiles.columns();
}

// Writes the sums of a piece, for each channel, to partial[piece][channel]. terms.of(channel) is
// made once for a thread's channels. It loads the pack at an offset and adds both terms of the
// pack's elements. kUnroll packs are loaded at once.
template <class Tiles, int kUnroll, class Terms>
struct PartialSums {
  using Real = typename Tiles::Real;
  static constexpr int kSums = Tiles::kPerPack;
  Terms terms;
  Both<Real>* partial;
  __device__ void operator()(const Tiles& tiles) const {
    const int64_t channel = tiles.channel();
    const bool inside = channel < tiles.channels;
    Both<Real> mine[kSums] = {};
    if (inside) {
      const auto add = terms.of(tiles, channel);
      tiles.template visit<kUnroll>(
          [&](int64_t at) { return add.load(at); },
          [&](int64_t at, const auto& loaded) { add.add(at, loaded, mine); });
    }
    fold_lines(tiles, mine);
    if (!has_sums(tiles)) return;
    for (int s = 0; s < kSums; ++s) partial[tiles.piece() * tiles.channels + channel + s] = mine[s];
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
  return tiles.pieces * tiles.channels * sizeof(Both<typename Tiles::Real>);
}

}  // namespace lockstep
