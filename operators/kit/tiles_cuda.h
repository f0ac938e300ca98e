// SPDX-License-Identifier: Apache-2.0
// Kernels over the elements of images, channels-last or row-major: element-wise work with
// per-channel numbers, and sums over each channel (channel_sums_cuda.h).
//
// Blocks cut a tensor into pieces. A thread's packs are at equal strides. The thread loads several
// packs before it uses the first, so that the latencies of the loads overlap.
#pragma once

#include "operators/kit/dispatch.h"
#include "operators/kit/elements_cuda.h"

namespace lockstep {

constexpr int kTileShift = 8;
constexpr int kTileThreads = 1 << kTileShift;
constexpr int kBlocksHeld = 3;  // the least number of blocks per multiprocessor
constexpr int kRounds = 3;      // number of rounds, each filling the GPU with blocks
// The most blocks of a sum, on every GPU: the pieces determine the order of a sum, and so its bits.
// 132 multiprocessors process the blocks in whole rounds.
constexpr int64_t kMostPieces = 132 * kBlocksHeld * kRounds;

// A thread's packs: the offset of the first, their number, and the stride between them in elements.
struct Packs {
  int64_t at, count, stride;

  template <int kUnroll, class Load, class Use>
  __device__ void visit(const Load& load, const Use& use) const {
    int64_t here = at, left = count;
#pragma unroll 1
    for (; left >= kUnroll; left -= kUnroll, here += kUnroll * stride) {
      decltype(load(here)) loaded[kUnroll];
#pragma unroll
      for (int k = 0; k < kUnroll; ++k) loaded[k] = load(here + k * stride);
#pragma unroll
      for (int k = 0; k < kUnroll; ++k) use(here + k * stride, loaded[k]);
    }
#pragma unroll 1
    for (; left > 0; --left, here += stride) use(here, load(here));
  }

  __device__ Packs backwards() const { return {at + (count - 1) * stride, count, -stride}; }
};

__device__ inline int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }

inline int shift_to(int64_t count, int most) {
  int shift = 0;
  while (shift < most && int64_t{1} << shift < count) ++shift;
  return shift;
}

// Channels-last. A line of `columns` threads covers the channels, kCount channels per thread. The
// lines of a block share a piece's rows.
template <int kCount, class Sum = float>
struct ChannelTiles {
  static constexpr int kPerPack = kCount;  // channels of a pack
  using Real = Sum;                        // of sums

  int64_t rows, channels;
  int shift, column_blocks;  // of the columns of threads
  int64_t pieces, rows_of_piece;

  explicit ChannelTiles(const TensorDesc& x, int64_t most_blocks = kMostPieces)
      : rows(x.count() == 0 ? 0 : x.count() / x.dims[1]), channels(x.dims[1]) {
    const int64_t packs = channels / kCount;
    shift = shift_to(packs, 5);
    column_blocks = static_cast<int>((packs + (int64_t{1} << shift) - 1) >> shift);
    const int64_t wanted = std::max<int64_t>(1, most_blocks / std::max(1, column_blocks));
    const int64_t lines = kTileThreads >> shift;
    rows_of_piece = std::max<int64_t>((rows + wanted - 1) / wanted, lines);
    pieces = (rows + rows_of_piece - 1) / rows_of_piece;
  }
  dim3 grid() const {
    return {static_cast<unsigned>(column_blocks), static_cast<unsigned>(pieces), 1};
  }

  __device__ int columns() const { return 1 << shift; }
  __device__ int column() const { return static_cast<int>(threadIdx.x) & (columns() - 1); }
  __device__ int64_t channel() const {
    return ((static_cast<int64_t>(blockIdx.x) << shift) + column()) * kCount;
  }
  __device__ int64_t piece() const { return blockIdx.y; }
  __device__ int64_t first_of(int64_t channel) const { return channel; }

  template <int kUnroll, class Load, class Use>
  __device__ void visit(const Load& load, const Use& use) const {
    packs_of(piece()).template visit<kUnroll>(load, use);
  }
  // Visits rows from last to first, because the last rows are still in the cache after an earlier
  // visit or after the kernel that wrote them.
  template <int kUnroll, class Load, class Use>
  __device__ void visit_backwards(const Load& load, const Use& use) const {
    packs_of(pieces - 1 - piece()).backwards().template visit<kUnroll>(load, use);
  }

 private:
  __device__ Packs packs_of(int64_t piece) const {
    const int64_t begin = piece * rows_of_piece + (threadIdx.x >> shift);
    const int64_t end = lesser((piece + 1) * rows_of_piece, rows);
    const int lines_shift = kTileShift - shift, lines = 1 << lines_shift;
    return {begin * channels + channel(), (end - begin + lines - 1) >> lines_shift,
            lines * channels};
  }
};

// Row-major. Each block processes one channel. A small plane has one pack for each of `columns`
// threads, and the lines of threads share the images. All threads of a block cover a larger plane.
template <int kCount>
struct PlaneTiles {
  static constexpr int kPerPack = 1;
  using Real = double;

  int64_t rows, channels, images, plane;  // rows: of a channel's elements
  int64_t packs;                          // of a plane
  int shift;
  int64_t image_pieces, images_of_piece, plane_pieces, packs_of_piece, pieces;

  explicit PlaneTiles(const TensorDesc& x, int64_t most_blocks = kMostPieces)
      : channels(x.dims[1]), images(x.count() == 0 ? 0 : x.dims[0]) {
    plane = images == 0 ? 0 : x.count() / (images * channels);
    rows = images * plane;
    packs = plane / kCount;
    shift = shift_to(packs, kTileShift);
    const int64_t wanted = std::max<int64_t>(1, most_blocks / std::max<int64_t>(1, channels));
    const int64_t lines = kTileThreads >> shift;
    images_of_piece = std::max((images + wanted - 1) / wanted, lines);
    image_pieces = (images + images_of_piece - 1) / images_of_piece;
    const int64_t wanted_of_plane = std::max<int64_t>(1, wanted / std::max<int64_t>(1, images));
    packs_of_piece =
        std::max<int64_t>((packs + wanted_of_plane - 1) / wanted_of_plane, kTileThreads);
    plane_pieces = (packs + packs_of_piece - 1) / packs_of_piece;
    pieces = image_pieces * plane_pieces;
  }
  dim3 grid() const {
    return {static_cast<unsigned>(channels), static_cast<unsigned>(image_pieces),
            static_cast<unsigned>(plane_pieces)};
  }

  __device__ int columns() const { return 1; }
  __device__ int column() const { return 0; }
  __device__ int64_t channel() const { return blockIdx.x; }
  __device__ int64_t piece() const {
    return static_cast<int64_t>(blockIdx.z) * image_pieces + blockIdx.y;
  }
  __device__ int64_t first_of(int64_t channel) const { return channel * plane; }

  template <int kUnroll, class Load, class Use>
  __device__ void visit(const Load& load, const Use& use) const {
    const int64_t first = blockIdx.y * images_of_piece;
    const int64_t last = lesser(first + images_of_piece, images);
    const int64_t between = channels * plane;  // images
    const int line = static_cast<int>(threadIdx.x) >> shift;
    const int64_t pack =
        blockIdx.z * packs_of_piece + (static_cast<int>(threadIdx.x) & ((1 << shift) - 1));
    const int64_t end = lesser((blockIdx.z + 1) * packs_of_piece, packs);
    const bool small = shift < kTileShift;
    Packs mine{((first + line) * channels + channel()) * plane + pack * kCount, 0, 0};
    if (small) {
      const int lines_shift = kTileShift - shift, lines = 1 << lines_shift;
      mine.count = pack < end ? (last - first - line + lines - 1) >> lines_shift : 0;
      mine.stride = lines * between;
    } else {
      mine.count = (end - pack + kTileThreads - 1) >> kTileShift;
      mine.stride = kTileThreads * kCount;
    }
#pragma unroll 1
    for (int64_t i = small ? last - 1 : first; i < last; ++i, mine.at += between)
      mine.template visit<kUnroll>(load, use);
  }
  template <int kUnroll, class Load, class Use>
  __device__ void visit_backwards(const Load& load, const Use& use) const {
    visit<kUnroll>(load, use);  // each block processes one channel, so the end of the tensor is not
                                // cached
  }
};

template <class Tiles, class Body>
__global__ void __launch_bounds__(kTileThreads, kBlocksHeld) run_tiles(Tiles tiles, Body body) {
  body(tiles);
}

// Calls body(tiles) in every thread of the tiles' blocks.
template <class Where, class Tiles, class Body>
void for_tiles(const Where& where, const Tiles& tiles, const Body& body) {
  const dim3 grid = tiles.grid();
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  launch_blocks(run_tiles<Tiles, Body>, grid, kTileThreads, stream_of(where), tiles, body);
}

// Tiles for element-wise work: as many blocks as the GPU holds at once, times a few rounds. Several
// rounds let the first round cover the elements that the last round of an earlier sum has read.
template <class Body, class Tiles>
Tiles tiles_in_rounds(const Tiles&, const TensorDesc& x, Device device) {
  return Tiles(x, kRounds * blocks_held(device, run_tiles<Tiles, Body>, kTileThreads));
}

// Calls make.operator()<type on the device, its tiles, elements per thread>(). Rows of channels
// without spatial dimensions are channels-last in either layout; row-major images of 16 bits are
// rare.
template <class Make>
auto tiled(const TensorDesc& x, bool channels_last, const Make& make) {
  return dispatch<TensorFloats>(x.dtype, [&]<class Host>() {
    using T = DeviceType<Host>;
    constexpr int kMany = kPack<T>;
    const int64_t planes = x.dims[0] * x.dims[1];
    if (channels_last || x.count() == planes) {
      if (x.dims[1] % kMany == 0) return make.template operator()<T, ChannelTiles<kMany>, kMany>();
      return make.template operator()<T, ChannelTiles<1>, 1>();
    }
    if constexpr (std::is_same_v<T, float>) {
      if (planes > 0 && x.count() / planes % kMany == 0)
        return make.template operator()<T, PlaneTiles<kMany>, kMany>();
    }
    return make.template operator()<T, PlaneTiles<1>, 1>();
  });
}

}  // namespace lockstep
