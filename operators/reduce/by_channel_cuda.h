// ReduceSum over everything but the channels of row-major images: the gradient of a convolution's
// bias. Many blocks share a channel, where the general kernel has one block for each.
#pragma once

#include "operators/kit/channel_sums_cuda.h"
#include "operators/reduce/extent.h"

namespace lockstep {

template <class Tiles, int kCount>
struct ElementSums {
  using Real = typename Tiles::Real;
  const float* x;
  struct Adder {
    const float* x;
    __device__ Pack<float, kCount> load(int64_t at) const {
      return lockstep::load<float, kCount>(x + at);
    }
    __device__ void add(int64_t, const Pack<float, kCount>& pack, Both<Real> (&sums)[1]) const {
#pragma unroll
      for (int e = 0; e < kCount; ++e) sums[0].x += Real(pack.at[e]);
    }
  };
  __device__ Adder of(const Tiles&, int64_t) const { return {x}; }
};

template <class Tiles>
struct SettleChannelSum {
  Tiles tiles;
  const Both<typename Tiles::Real>* partial;
  float* y;
  __device__ void operator()(int64_t c) const {
    const Both<double> total = total_of(partial, tiles, c);
    if (threadIdx.x == 0) y[c] = static_cast<float>(total.x);
  }
};

template <int kCount>
std::unique_ptr<Kernel> sums_by_channel(const TensorDesc& x) {
  using Tiles = PlaneTiles<kCount>;
  const Tiles tiles(x);
  auto run = [=](const KernelArgs& args) {
    auto* partial = reinterpret_cast<Both<typename Tiles::Real>*>(args.workspace);
    using Sums = ElementSums<Tiles, kCount>;
    for_tiles(args, tiles,
              PartialSums<Tiles, 4, Sums>{Sums{args.in[0].as<const float>()}, partial});
    for_blocks(args, tiles.channels,
               SettleChannelSum<Tiles>{tiles, partial, args.out[0].as<float>()});
  };
  return make_kernel(run, "by channel", bytes_of_partial(tiles));
}

inline std::unique_ptr<Kernel> prepare_by_channel(const KernelRequest& request) {
  constexpr int kMany = kPack<float>;
  const TensorDesc& x = request.in[0];
  const bool in_packs = x.count() / (x.dims[0] * x.dims[1]) % kMany == 0;
  return in_packs ? sums_by_channel<kMany>(x) : sums_by_channel<1>(x);
}

}  // namespace lockstep
