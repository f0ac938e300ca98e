// SPDX-License-Identifier: Apache-2.0
// Sums of floats over everything but one dimension: the gradient of a bias. Elements have 16 bits
// or float32 and are row-major or channels-last. Many blocks share a channel, where the general
// kernel has one block for each channel.
#pragma once

#include <algorithm>

#include "operators/kit/channel_sums_cuda.h"
#include "operators/reduce/extent.h"

namespace lockstep {

// Sums with at most this number of loads per thread run in one launch.
constexpr int64_t kFewLoads = 16;

template <int kCount, class Sum>
int64_t rows_at_once(const ChannelTiles<kCount, Sum>& tiles) {
  return kTileThreads >> tiles.shift;
}
template <int kCount>
int64_t rows_at_once(const PlaneTiles<kCount>&) {
  return kTileThreads * kCount;
}

template <class T, class Tiles, int kCount>
struct SumPieces {
  static constexpr int kSums = Tiles::kPerPack;
  const T* x;
  double* partial;  // one for each piece
  float* y;         // if there is one piece
  __device__ void operator()(const Tiles& tiles) const {
    const int64_t channel = tiles.channel();
    double mine[kSums] = {};
    if (channel < tiles.channels)
      tiles.template visit<4>([&](int64_t at) { return load<T, kCount>(x + at); },
                              [&](int64_t, const Pack<T, kCount>& pack) {
#pragma unroll
                                for (int e = 0; e < kCount; ++e)
                                  mine[kSums == 1 ? 0 : e] += double(computed(pack.at[e]));
                              });
    fold_lines(tiles, mine);
    if (!has_sums(tiles)) return;
    for (int s = 0; s < kSums; ++s)
      if (tiles.pieces == 1)
        y[channel + s] = static_cast<float>(mine[s]);
      else
        partial[tiles.piece() * tiles.channels + channel + s] = mine[s];
  }
};

struct SumOfPieces {
  const double* partial;
  int64_t pieces, channels;
  float* y;
  __device__ void operator()(int64_t c) const {
    double mine = 0;
    for (int64_t piece = threadIdx.x; piece < pieces; piece += kFoldThreads)
      mine += partial[piece * channels + c];
    const double total = fold_block(mine, Add());
    if (threadIdx.x == 0) y[c] = static_cast<float>(total);
  }
};

template <class T, class Tiles, int kCount>
std::unique_ptr<Kernel> sums_by_channel(const TensorDesc& x, const char* how) {
  Tiles tiles(x);
  if (tiles.rows <= kFewLoads * rows_at_once(tiles)) tiles = Tiles(x, 1);
  auto run = [=](const KernelArgs& args) {
    auto* const partial = reinterpret_cast<double*>(args.workspace);
    auto* const y = args.out[0].as<float>();
    for_tiles(args, tiles, SumPieces<T, Tiles, kCount>{args.in[0].as<const T>(), partial, y});
    if (tiles.pieces != 1)
      for_blocks(args, tiles.channels, SumOfPieces{partial, tiles.pieces, tiles.channels, y});
  };
  const auto partial = tiles.pieces * tiles.channels * sizeof(double);
  return make_kernel(run, join(how, kCount > 1 ? ", in packs" : ""),
                     tiles.pieces == 1 ? 0 : partial);
}

// The dimension that a reduction keeps; -1 if it keeps none or several.
inline int64_t axis_kept(const KernelRequest& request) {
  const std::vector<bool> is_reduced = reduced_dimensions(request);
  if (std::ranges::count(is_reduced, false) != 1) return -1;
  return std::ranges::find(is_reduced, false) - is_reduced.begin();
}

inline std::string not_by_channel_on_gpu(const KernelRequest& request) {
  const TensorDesc& x = request.in[0];
  if (const std::string why = no_sum_of_floats(request); !why.empty()) return why;
  const int64_t axis = axis_kept(request);
  if (axis < 0) return "keeps one dimension";
  if (!x.layout.is_rows() && !(axis == 1 && x.layout.is_channels_last()))
    return "takes rows, or channels last";
  if (is_channel_sums(request)) return "";
  return axis > 0 && x.count() > 0 ? "" : "takes what has rows";
}

inline Layouts by_channel_layouts(const KernelRequest& request) {
  Layouts layouts = row_major(request);
  if (request.in[0].layout.is_channels_last() && axis_kept(request) == 1)
    layouts.in[0] = request.in[0].layout;
  return layouts;
}

inline std::unique_ptr<Kernel> prepare_by_channel(const KernelRequest& request) {
  const TensorDesc& x = request.in[0];
  const auto axis = x.dims.begin() + axis_kept(request);
  const int64_t before = element_count({x.dims.begin(), axis}), channels = *axis,
                behind = element_count({axis + 1, x.dims.end()});
  return dispatch<TensorFloats>(x.dtype, [&]<class Host>() {
    using T = DeviceType<Host>;
    constexpr int kMany = kPack<T>;
    if (x.layout.is_channels_last() || behind == 1 || x.count() == 0) {
      const TensorDesc rows{x.dtype, {before * behind, channels}};
      const char* const how = "by channel, channels last";
      if (channels % kMany == 0)
        return sums_by_channel<T, ChannelTiles<kMany, double>, kMany>(rows, how);
      return sums_by_channel<T, ChannelTiles<1, double>, 1>(rows, how);
    }
    const TensorDesc planes{x.dtype, {before, channels, behind}};
    if (behind % kMany == 0)
      return sums_by_channel<T, PlaneTiles<kMany>, kMany>(planes, "by channel");
    return sums_by_channel<T, PlaneTiles<1>, 1>(planes, "by channel");
  });
}

}  // namespace lockstep
