// SPDX-License-Identifier: Apache-2.0
// The launches of a batch norm on images: sums of the elements, then the numbers derived from the
// sums for each channel, then each element. T is the elements' type, Tiles defines their layout,
// and kCount is the number of elements of a pack.
#pragma once

#include "operators/kit/channel_sums_cuda.h"

namespace lockstep {

// A channel's number for each element of a pack, or one number for all elements.
template <class Tiles, class Number>
struct PerChannel {
  Number of[Tiles::kPerPack];

  __device__ static PerChannel load(const Number* from, int64_t channel) {
    PerChannel numbers;
#pragma unroll
    for (int s = 0; s < Tiles::kPerPack; ++s) numbers.of[s] = from[channel + s];
    return numbers;
  }
  __device__ const Number& at(int element) const { return of[Tiles::kPerPack == 1 ? 0 : element]; }
};

// Sums of x minus the channel's first value, so that squares of a large mean do not swamp the
// variance.
template <class T, class Tiles, int kCount>
struct ShiftedSums {
  using Real = typename Tiles::Real;
  const T* x;
  struct Adder {
    const T* x;
    PerChannel<Tiles, T> first;
    __device__ Pack<T, kCount> load(int64_t at) const { return lockstep::load<T, kCount>(x + at); }
    __device__ void add(int64_t, const Pack<T, kCount>& pack,
                        Both<Real> (&sums)[Tiles::kPerPack]) const {
#pragma unroll
      for (int e = 0; e < kCount; ++e) {
        Both<Real>& sum = sums[Tiles::kPerPack == 1 ? 0 : e];
        const Real away = Real(computed(pack.at[e])) - Real(computed(first.at(e)));
        sum.x += away;
        sum.y += away * away;
      }
    }
  };
  __device__ Adder of(const Tiles& tiles, int64_t channel) const {
    return {x, PerChannel<Tiles, T>::load(x, tiles.first_of(channel))};
  }
};

// A channel's y = factor (x - mean) + bias.
struct Normaliser {
  float factor, mean, bias;
  __device__ static Normaliser of(float scale, float bias, float mean, float variance,
                                  float epsilon) {
    return {scale / sqrtf(variance + epsilon), mean, bias};
  }
  // Uses fmaf(), so that all kernels compute the same bits.
  __device__ float operator()(float x) const { return fmaf(factor, x - mean, bias); }
};

// Computes one channel's statistics and the numbers that its elements need.
template <class T, class Tiles>
struct ChannelStatistics {
  Tiles tiles;
  float epsilon, momentum;
  bool of_batch;  // true: statistics of the batch; false: given statistics
  const Both<typename Tiles::Real>* partial;
  const float *sums, *squares;  // of x if computed before, else null
  const T* x;
  const float *scale, *bias, *mean, *variance;
  Normaliser* affine;
  float *next_mean, *next_variance, *batch_mean, *batch_variance;  // each may be null
  __device__ void operator()(int64_t c) const {
    float center = mean[c], spread = variance[c];
    if (of_batch) {
      const auto rows = static_cast<double>(tiles.rows);
      const auto total = sums ? Both<double>{sums[c], squares[c]} : total_of(partial, tiles, c);
      const bool shifted = !sums && tiles.rows > 0;  // by the channel's first value
      const double first = shifted ? computed(x[tiles.first_of(c)]) : 0;
      const double away = total.x / rows;
      const double square = total.y / rows - away * away;
      center = static_cast<float>(first + away);
      spread = static_cast<float>(square < 0 ? 0 : square);  // NaN stays NaN
    }
    if (threadIdx.x > 0) return;
    affine[c] = Normaliser::of(scale[c], bias[c], center, spread, epsilon);
    if (!of_batch) return;
    if (next_mean) next_mean[c] = momentum * mean[c] + (1 - momentum) * center;
    if (next_variance) next_variance[c] = momentum * variance[c] + (1 - momentum) * spread;
    if (batch_mean) batch_mean[c] = center;
    if (batch_variance) batch_variance[c] = spread;
  }
};

template <class T, class Tiles, int kCount, bool kAdds>
struct Normalise {
  const Normaliser* affine;
  float least;  // 0 with a ReLU, or minus infinity
  const T *x, *z;
  T* y;  // may alias x
  struct Loaded {
    Pack<T, kCount> x, z;
  };
  __device__ void operator()(const Tiles& tiles) const {
    const int64_t channel = tiles.channel();
    if (channel >= tiles.channels) return;
    const auto mine = PerChannel<Tiles, Normaliser>::load(affine, channel);
    tiles.template visit_backwards<kAdds ? 2 : 4>(
        [&](int64_t at) {
          Loaded loaded;
          loaded.x = load<T, kCount>(x + at);
          if constexpr (kAdds) loaded.z = load<T, kCount>(z + at);
          return loaded;
        },
        [&](int64_t at, const Loaded& loaded) {
          Pack<T, kCount> pack;
#pragma unroll
          for (int e = 0; e < kCount; ++e) {
            float value = mine.at(e)(computed(loaded.x.at[e]));
            if constexpr (kAdds) value += computed(loaded.z.at[e]);
            pack.at[e] = stored<T>(value < least ? least : value);  // NaN stays NaN
          }
          store<T, kCount>(y + at, pack);
        });
  }
};

// The mask of dy. Before a ReLU, dy passes where the ReLU's output was positive. y determines the
// mask if something was added before the ReLU; otherwise x does, which is read anyway.
enum class Mask { none, by_x, by_y };

// Reads dy and x.
template <class T, class Tiles, int kCount, Mask kMask>
struct Incoming {
  float epsilon;
  const T *dy, *x, *y;
  const float *scale, *bias, *mean, *variance;

  struct Loaded {
    Pack<T, kCount> dy, x, y;
  };
  struct Reader {
    const T *dy, *x, *y;
    PerChannel<Tiles, Normaliser> affine;
    __device__ Loaded load(int64_t at) const {
      Loaded loaded;
      loaded.dy = lockstep::load<T, kCount>(dy + at);
      loaded.x = lockstep::load<T, kCount>(x + at);
      if constexpr (kMask == Mask::by_y) loaded.y = lockstep::load<T, kCount>(y + at);
      return loaded;
    }
    // The difference of x and the mean.
    __device__ float away(const Loaded& loaded, int e) const {
      return computed(loaded.x.at[e]) - affine.at(e).mean;
    }
    __device__ float slope(const Loaded& loaded, int e) const {
      const float slope = computed(loaded.dy.at[e]);
      if constexpr (kMask == Mask::by_y) return computed(loaded.y.at[e]) > 0 ? slope : 0;
      if constexpr (kMask == Mask::by_x) {
        const float y = computed(stored<T>(affine.at(e)(computed(loaded.x.at[e]))));
        return y > 0 ? slope : 0;
      }
      return slope;
    }
  };
  __device__ Normaliser affine_of(int64_t c) const {
    return Normaliser::of(scale[c], bias ? bias[c] : 0, mean[c], variance[c], epsilon);
  }
  __device__ Reader reader() const { return {dy, x, y, {}}; }
};

// Sums of dy, and of dy times (x - mean). Also writes the passing part of dy if dz is wanted: the
// next launch reads dz instead of dy and y.
template <class T, class Tiles, int kCount, Mask kMask>
struct GradientSums {
  using From = Incoming<T, Tiles, kCount, kMask>;
  using Real = typename Tiles::Real;
  From from;
  T* dz;  // may be null
  struct Adder {
    typename From::Reader read;
    T* dz;
    __device__ typename From::Loaded load(int64_t at) const { return read.load(at); }
    __device__ void add(int64_t at, const typename From::Loaded& loaded,
                        Both<Real> (&sums)[Tiles::kPerPack]) const {
      Pack<T, kCount> passed;
#pragma unroll
      for (int e = 0; e < kCount; ++e) {
        Both<Real>& sum = sums[Tiles::kPerPack == 1 ? 0 : e];
        const float slope = read.slope(loaded, e);
        sum.x += slope;
        sum.y += Real(slope) * read.away(loaded, e);
        passed.at[e] = stored<T>(slope);
      }
      if (dz) store<T, kCount>(dz + at, passed);
    }
  };
  __device__ Adder of(const Tiles&, int64_t channel) const {
    Adder adder{from.reader(), dz};
#pragma unroll
    for (int s = 0; s < Tiles::kPerPack; ++s) adder.read.affine.of[s] = from.affine_of(channel + s);
    return adder;
  }
};

// dx = affine.factor dy + along (x - affine.mean) + constant
struct Coefficients {
  Normaliser affine;
  float along, constant;
};

template <class T, class Tiles, int kCount, Mask kMask>
struct SettleGradient {
  Incoming<T, Tiles, kCount, kMask> from;
  Tiles tiles;
  bool given;  // mean and variance do not depend on x
  const Both<typename Tiles::Real>* partial;
  Coefficients* coefficients;
  float *dscale, *dbias;  // each may be null
  __device__ void operator()(int64_t c) const {
    const Both<double> total = total_of(partial, tiles, c);
    if (threadIdx.x > 0) return;
    const Normaliser affine = from.affine_of(c);
    const float inverse = 1 / sqrtf(from.variance[c] + from.epsilon);
    const double product = total.y * inverse;  // of dy and the normalised x
    const auto mean_dy = static_cast<float>(total.x / static_cast<double>(tiles.rows));
    const auto mean_product = static_cast<float>(product / static_cast<double>(tiles.rows));
    coefficients[c] = {affine, given ? 0 : -affine.factor * inverse * mean_product,
                       given ? 0 : -affine.factor * mean_dy};
    if (dscale) dscale[c] = static_cast<float>(product);
    if (dbias) dbias[c] = static_cast<float>(total.x);
  }
};

template <class T, class Tiles, int kCount, Mask kMask>
struct Backward {
  using From = Incoming<T, Tiles, kCount, kMask>;
  From from;
  const Coefficients* coefficients;
  T* dx;  // may alias dy or x
  __device__ void operator()(const Tiles& tiles) const {
    const int64_t channel = tiles.channel();
    if (channel >= tiles.channels) return;
    const auto mine = PerChannel<Tiles, Coefficients>::load(coefficients, channel);
    auto read = from.reader();
#pragma unroll
    for (int s = 0; s < Tiles::kPerPack; ++s) read.affine.of[s] = mine.of[s].affine;
    tiles.template visit_backwards<2>(
        [&](int64_t at) { return read.load(at); },
        [&](int64_t at, const typename From::Loaded& loaded) {
          Pack<T, kCount> pack;
#pragma unroll
          for (int e = 0; e < kCount; ++e) {
            const Coefficients& c = mine.at(e);
            const float along = fmaf(c.along, read.away(loaded, e), c.constant);
            pack.at[e] = stored<T>(fmaf(c.affine.factor, read.slope(loaded, e), along));
          }
          store<T, kCount>(dx + at, pack);
        });
  }
};

}  // namespace lockstep
