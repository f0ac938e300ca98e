// The work on a convolution's result, for engines that only convolve.
#pragma once

#include "operators/conv/cudnn_convolution.h"
#include "operators/kit/tiles_cuda.h"

namespace lockstep {

// y[n, c, ..] += bias[c], then negative values become 0; kCount neighbours at once, of one channel
// or of consecutive ones.
template <class T, int kCount>
struct BiasAndRelu {
  int64_t step, channels;  // elements between channels
  bool relu;
  const T* bias;  // may be null
  T* y;
  __device__ void operator()(int64_t i) const {
    const int64_t channel = i * kCount / step % channels;
    auto pack = load<T, kCount>(y + i * kCount);
    for (int e = 0; e < kCount; ++e) {
      float value = computed(pack.at[e]);
      if (bias) value += computed(bias[channel + (step == 1 ? e : 0)]);
      pack.at[e] = stored<T>(relu && value < 0 ? 0.0F : value);  // NaN stays NaN
    }
    store<T, kCount>(y + i * kCount, pack);
  }
};

template <class T, int kCount>
struct SumAndSquares {
  const T* y;
  struct Adder {
    const T* y;
    __device__ void operator()(int64_t at, float2 (&sums)[kCount]) const {
      const auto pack = load<T, kCount>(y + at);
      for (int e = 0; e < kCount; ++e) {
        const float value = computed(pack.at[e]);
        sums[e].x += value;
        sums[e].y += value * value;
      }
    }
  };
  __device__ Adder of(int64_t) const { return {y}; }
};

struct SettleSums {
  Tiling tiling;
  const float2* partial;
  float *sums, *squares;
  __device__ void operator()(int64_t c) const {
    const double2 total = total_of(partial, tiling, c);
    if (threadIdx.x > 0) return;
    sums[c] = static_cast<float>(total.x);
    squares[c] = static_cast<float>(total.y);
  }
};

// For a row-major y [images, channels, plane], one block per channel.
template <class T>
struct SumsOfPlanes {
  int64_t images, channels, plane;
  const T* y;
  float *sums, *squares;
  __device__ void operator()(int64_t c) const {
    double sum = 0, square = 0;
    for (int64_t i = threadIdx.x; i < images * plane; i += kFoldThreads) {
      const double value = computed(y[(i / plane * channels + c) * plane + i % plane]);
      sum += value;
      square += value * value;
    }
    const auto plus = [](double a, double b) { return a + b; };
    sum = fold_block(sum, plus);
    square = fold_block(square, plus);
    if (threadIdx.x > 0) return;
    sums[c] = static_cast<float>(sum);
    squares[c] = static_cast<float>(square);
  }
};

template <class T, int kCount>
Epilogue epilogue_on(const Convolution& c, const TensorDesc& y) {
  const int64_t channels = y.dims[1], plane = y.count() / (y.dims[0] * channels);
  const Tiling tiling(y, c.channels_last ? kCount : 1);
  const bool tiled = c.statistics && c.channels_last;
  auto run = [=, images = y.dims[0], count = y.count(), bias = c.bias, relu = c.relu,
              last = c.channels_last, statistics = c.statistics](
                 cudaStream_t stream, const ConvolutionData& data, void* workspace) {
    T* const to = static_cast<T*>(data.y);
    auto* sums = static_cast<float*>(data.sums);
    auto* squares = static_cast<float*>(data.squares);
    const T* added = bias ? static_cast<const T*>(data.bias) : nullptr;
    if (bias || relu) {
      if (last)
        for_elements(stream, count / kCount, BiasAndRelu<T, kCount>{1, channels, relu, added, to});
      else
        for_elements(stream, count, BiasAndRelu<T, 1>{plane, channels, relu, added, to});
    }
    if (tiled) {
      auto* partial = static_cast<float2*>(workspace);
      using Sums = SumAndSquares<T, kCount>;
      for_tiles<kCount>(stream, tiling, PartialSums<kCount, Sums>{Sums{to}, partial});
      for_blocks(stream, channels, SettleSums{tiling, partial, sums, squares});
    } else if (statistics) {
      for_blocks(stream, channels, SumsOfPlanes<T>{images, channels, plane, to, sums, squares});
    }
  };
  return {run, tiled ? bytes_of_partial(tiling) : 0};
}

inline Epilogue epilogue_of(const Convolution& c, const TensorDesc& y) {
  if (c.only_convolves()) return {};
  return packed(y, [&]<class T, int kCount>() { return epilogue_on<T, kCount>(c, y); });
}

}  // namespace lockstep
