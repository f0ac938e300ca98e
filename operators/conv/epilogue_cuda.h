// SPDX-License-Identifier: Apache-2.0
// The work on a convolution's result, for engines that only compute the convolution.
#pragma once

#include "operators/conv/cudnn_convolution.h"
#include "operators/kit/channel_sums_cuda.h"

namespace lockstep {

// y[n, c, ..] += bias[c], then z[n, c, ..] is added, then negative values become 0. Computes kCount
// neighbours at once, of one channel or of consecutive channels.
template <class T, int kCount>
struct BiasAddRelu {
  int64_t step, channels;  // elements between channels
  bool relu;
  const T *bias, *z;  // may be null
  T* y;
  __device__ void operator()(int64_t i) const {
    const int64_t channel = i * kCount / step % channels;
    auto pack = load<T, kCount>(y + i * kCount);
    auto added = pack;
    if (z) added = load<T, kCount>(z + i * kCount);
    for (int e = 0; e < kCount; ++e) {
      float value = computed(pack.at[e]);
      if (bias) value += computed(bias[channel + (step == 1 ? e : 0)]);
      if (z) value += computed(added.at[e]);
      pack.at[e] = stored<T>(relu && value < 0 ? 0.0F : value);  // NaN stays NaN
    }
    store<T, kCount>(y + i * kCount, pack);
  }
};

template <class T, class Tiles, int kCount>
struct SumAndSquares {
  using Real = typename Tiles::Real;
  const T* y;
  struct Adder {
    const T* y;
    __device__ Pack<T, kCount> load(int64_t at) const { return lockstep::load<T, kCount>(y + at); }
    __device__ void add(int64_t, const Pack<T, kCount>& pack,
                        Both<Real> (&sums)[Tiles::kPerPack]) const {
#pragma unroll
      for (int e = 0; e < kCount; ++e) {
        Both<Real>& sum = sums[Tiles::kPerPack == 1 ? 0 : e];
        const Real value = computed(pack.at[e]);
        sum.x += value;
        sum.y += value * value;
      }
    }
  };
  __device__ Adder of(const Tiles&, int64_t) const { return {y}; }
};

template <class Tiles>
struct SettleSums {
  Tiles tiles;
  const Both<typename Tiles::Real>* partial;
  float *sums, *squares;
  __device__ void operator()(int64_t c) const {
    const Both<double> total = total_of(partial, tiles, c);
    if (threadIdx.x > 0) return;
    sums[c] = static_cast<float>(total.x);
    squares[c] = static_cast<float>(total.y);
  }
};

template <class T, class Tiles, int kCount>
Epilogue epilogue_on(const Convolution& c, const TensorDesc& y) {
  const Tiles tiles(y);
  auto run = [=, channels = y.dims[1], plane = y.count() / (y.dims[0] * y.dims[1]),
              count = y.count(), bias = c.bias, addition = c.addition, relu = c.relu,
              last = c.channels_last, statistics = c.statistics](
                 cudaStream_t stream, const ConvolutionData& data, void* workspace) {
    T* const to = static_cast<T*>(data.y);
    if (bias || addition || relu) {
      const int64_t step = last ? 1 : plane;
      const auto* const shift = bias ? static_cast<const T*>(data.bias) : nullptr;
      const auto* const z = addition ? static_cast<const T*>(data.z) : nullptr;
      for_elements(stream, count / kCount,
                   BiasAddRelu<T, kCount>{step, channels, relu, shift, z, to});
    }
    if (!statistics) return;
    auto* partial = static_cast<Both<typename Tiles::Real>*>(workspace);
    using Sums = SumAndSquares<T, Tiles, kCount>;
    for_tiles(stream, tiles, PartialSums<Tiles, 4, Sums>{Sums{to}, partial});
    for_blocks(stream, channels,
               SettleSums<Tiles>{tiles, partial, static_cast<float*>(data.sums),
                                 static_cast<float*>(data.squares)});
  };
  return {run, c.statistics ? bytes_of_partial(tiles) : 0};
}

inline Epilogue epilogue_of(const Convolution& c, const TensorDesc& y) {
  if (c.only_convolves()) return {};
  return tiled(y, c.channels_last, [&]<class T, class Tiles, int kCount>() {
    return epilogue_on<T, Tiles, kCount>(c, y);
  });
}

}  // namespace lockstep
