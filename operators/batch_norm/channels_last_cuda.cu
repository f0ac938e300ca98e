#include "operators/batch_norm/channels_last_cuda.h"

#include "operators/batch_norm/operands.h"
#include "operators/kit/tiles_cuda.h"

namespace lockstep {
namespace {

// Sums of x minus the channel's first value, so that squares of a large mean do not swallow the
// variance.
template <class T, int kCount>
struct ShiftedSums {
  const T* x;
  struct Adder {
    const T* x;
    Pack<T, kCount> first;
    __device__ void operator()(int64_t at, float2 (&sums)[kCount]) const {
      const auto pack = load<T, kCount>(x + at);
      for (int e = 0; e < kCount; ++e) {
        const float away = computed(pack.at[e]) - computed(first.at[e]);
        sums[e].x += away;
        sums[e].y += away * away;
      }
    }
  };
  __device__ Adder of(int64_t channel) const { return {x, load<T, kCount>(x + channel)}; }
};

// y = factor x + shift; the same wherever it is computed.
__device__ inline float2 affine_of(float scale, float bias, float mean, float variance,
                                   float epsilon) {
  const float factor = scale / sqrtf(variance + epsilon);
  return {factor, bias - factor * mean};
}

// Computes one channel's statistics, and the factor and shift of its elements.
template <class T>
struct Statistics {
  Tiling tiling;
  float epsilon, momentum;
  bool of_batch;
  const float2* partial;
  const float *sums, *squares;  // of x if known, else null
  const T* x;
  const float *scale, *bias, *mean, *variance;
  float2* affine;
  float *next_mean, *next_variance, *batch_mean, *batch_variance;  // each may be null
  __device__ void operator()(int64_t c) const {
    float center = mean[c], spread = variance[c];
    if (of_batch) {
      const auto rows = static_cast<double>(tiling.rows);
      const double2 total = sums ? double2{sums[c], squares[c]} : total_of(partial, tiling, c);
      const double first = sums ? 0 : computed(x[c]);  // the value subtracted from the others
      const double away = total.x / rows;
      const double square = total.y / rows - away * away;
      center = static_cast<float>(first + away);
      spread = static_cast<float>(square > 0 ? square : 0);
    }
    if (threadIdx.x > 0) return;
    affine[c] = affine_of(scale[c], bias[c], center, spread, epsilon);
    if (!of_batch) return;
    if (next_mean) next_mean[c] = momentum * mean[c] + (1 - momentum) * center;
    if (next_variance) next_variance[c] = momentum * variance[c] + (1 - momentum) * spread;
    if (batch_mean) batch_mean[c] = center;
    if (batch_variance) batch_variance[c] = spread;
  }
};

template <class T, int kCount>
struct Normalise {
  const float2* affine;
  bool relu;
  const T *x, *z;  // z may be null
  T* y;            // may lie over x
  __device__ void operator()(const Tiling& tiling, int64_t channel) const {
    if (channel >= tiling.channels) return;
    float2 mine[kCount];
    for (int e = 0; e < kCount; ++e) mine[e] = affine[channel + e];
    tiling.for_rows([&](int64_t row) {
      const int64_t at = row * tiling.channels + channel;
      auto pack = load<T, kCount>(x + at);
      Pack<T, kCount> more;
      if (z) more = load<T, kCount>(z + at);
      for (int e = 0; e < kCount; ++e) {
        float value = fmaf(mine[e].x, computed(pack.at[e]), mine[e].y);
        if (z) value += computed(more.at[e]);
        pack.at[e] = stored<T>(relu && value < 0 ? 0.0F : value);  // NaN stays NaN
      }
      store<T, kCount>(y + at, pack);
    });
  }
};

// Selects dy. Before a ReLU, dy passes where its output was positive: y tells if something was
// added first, else x, which is read anyway.
enum class Mask { none, by_x, by_y };

template <class T, int kCount>
struct Incoming {
  Mask mask;
  float epsilon;
  const T *dy, *x, *y;
  const float *scale, *bias, *mean, *variance;

  struct Reader {
    const Incoming& from;
    float2 affine[kCount];
    // dy and x of the elements at one place.
    __device__ void operator()(int64_t at, float (&slope)[kCount], float (&value)[kCount]) const {
      const auto d = load<T, kCount>(from.dy + at), pack = load<T, kCount>(from.x + at);
      Pack<T, kCount> result;
      if (from.mask == Mask::by_y) result = load<T, kCount>(from.y + at);
      for (int e = 0; e < kCount; ++e) {
        value[e] = computed(pack.at[e]);
        slope[e] = computed(d.at[e]);
        if (from.mask == Mask::by_x)
          result.at[e] = stored<T>(fmaf(affine[e].x, value[e], affine[e].y));
        if (from.mask != Mask::none && !(computed(result.at[e]) > 0)) slope[e] = 0;
      }
    }
  };
  __device__ Reader of(int64_t channel) const {
    Reader reader{*this, {}};
    if (mask == Mask::by_x)
      for (int64_t c = channel; c < channel + kCount; ++c)
        reader.affine[c - channel] = affine_of(scale[c], bias[c], mean[c], variance[c], epsilon);
    return reader;
  }
};

// Sums of dy, and of dy times the normalised x.
template <class T, int kCount>
struct GradientSums {
  Incoming<T, kCount> incoming;
  struct Adder {
    typename Incoming<T, kCount>::Reader read;
    float mean[kCount], inverse[kCount];
    __device__ void operator()(int64_t at, float2 (&sums)[kCount]) const {
      float slope[kCount], value[kCount];
      read(at, slope, value);
      for (int e = 0; e < kCount; ++e) {
        sums[e].x += slope[e];
        sums[e].y += slope[e] * ((value[e] - mean[e]) * inverse[e]);
      }
    }
  };
  __device__ Adder of(int64_t channel) const {
    Adder adder{incoming.of(channel), {}, {}};
    for (int e = 0; e < kCount; ++e) {
      adder.mean[e] = incoming.mean[channel + e];
      adder.inverse[e] = 1 / sqrtf(incoming.variance[channel + e] + incoming.epsilon);
    }
    return adder;
  }
};

// dx = a dy + b x + c
struct Coefficients {
  float a, b, c;
};

struct SettleGradient {
  Tiling tiling;
  float epsilon;
  bool given;
  const float2* partial;
  const float *scale, *mean, *variance;
  Coefficients* coefficients;
  float *dscale, *dbias;  // each may be null
  __device__ void operator()(int64_t c) const {
    const double2 total = total_of(partial, tiling, c);
    if (threadIdx.x > 0) return;
    const float inverse = 1 / sqrtf(variance[c] + epsilon);
    const float factor = scale[c] * inverse;
    const auto mean_dy = static_cast<float>(total.x / static_cast<double>(tiling.rows));
    const auto mean_product = static_cast<float>(total.y / static_cast<double>(tiling.rows));
    const float slope = given ? 0 : -factor * inverse * mean_product;
    coefficients[c] = {factor, slope, given ? 0 : -factor * mean_dy - slope * mean[c]};
    if (dscale) dscale[c] = static_cast<float>(total.y);
    if (dbias) dbias[c] = static_cast<float>(total.x);
  }
};

template <class T, int kCount>
struct Backward {
  Incoming<T, kCount> incoming;
  const Coefficients* coefficients;
  T *dx, *dz;  // dx may lie over dy or x; dz may be null
  __device__ void operator()(const Tiling& tiling, int64_t channel) const {
    if (channel >= tiling.channels) return;
    const auto read = incoming.of(channel);
    Coefficients mine[kCount];
    for (int e = 0; e < kCount; ++e) mine[e] = coefficients[channel + e];
    tiling.for_rows([&](int64_t row) {
      const int64_t at = row * tiling.channels + channel;
      float slope[kCount], value[kCount];
      read(at, slope, value);
      Pack<T, kCount> pack;
      for (int e = 0; e < kCount; ++e)
        pack.at[e] = stored<T>(mine[e].a * slope[e] + mine[e].b * value[e] + mine[e].c);
      store<T, kCount>(dx + at, pack);
      if (!dz) return;
      for (int e = 0; e < kCount; ++e) pack.at[e] = stored<T>(slope[e]);
      store<T, kCount>(dz + at, pack);
    });
  }
};

// The workspace: partial sums, then each channel's coefficients.
struct Workspace {
  float2* partial;
  std::byte* of_channels;
  Workspace(std::byte* at, const Tiling& tiling)
      : partial(reinterpret_cast<float2*>(at)), of_channels(at + bytes_of_partial(tiling)) {}
  template <class OfChannel>
  static std::size_t bytes(const Tiling& tiling) {
    return bytes_of_partial(tiling) + static_cast<std::size_t>(tiling.channels) * sizeof(OfChannel);
  }
};

}  // namespace

std::unique_ptr<Kernel> channels_last_batch_norm(const KernelRequest& request) {
  using In = BatchNormIn;
  using Out = BatchNormOut;
  const BatchNormAttrs attrs = read_batch_norm(request.node);
  return packed(request.in[In::x], [&]<class T, int kCount>() {
    const Tiling tiling(request.in[In::x], kCount);
    auto run = [=](const KernelArgs& args) {
      const Workspace workspace(args.workspace, tiling);
      auto* affine = reinterpret_cast<float2*>(workspace.of_channels);
      const T* x = operand<T>(args, In::x);
      const T* z = operand<T>(args, In::z);
      const float* sums = operand<float>(args, In::sums);
      const float* squares = operand<float>(args, In::squares);
      using Sums = ShiftedSums<T, kCount>;
      if (attrs.training && !sums)
        for_tiles<kCount>(args, tiling, PartialSums<kCount, Sums>{Sums{x}, workspace.partial});
      for_blocks(
          args, tiling.channels,
          Statistics<T>{
              tiling, attrs.epsilon, attrs.momentum, attrs.training, workspace.partial, sums,
              squares, x, operand<float>(args, In::scale), operand<float>(args, In::bias),
              operand<float>(args, In::mean), operand<float>(args, In::variance), affine,
              result<float>(args, Out::new_mean), result<float>(args, Out::new_variance),
              result<float>(args, Out::saved_mean), result<float>(args, Out::saved_variance)});
      for_tiles<kCount>(args, tiling,
                        Normalise<T, kCount>{affine, attrs.relu, x, z, result<T>(args, Out::y)});
    };
    return make_kernel(run, "channels last", Workspace::bytes<float2>(tiling));
  });
}

std::unique_ptr<Kernel> channels_last_batch_norm_grad(const KernelRequest& request) {
  using In = BatchNormGradIn;
  using Out = BatchNormGradOut;
  const BatchNormGradAttrs attrs = read_batch_norm_grad(request.node);
  const Mask mask = !attrs.relu ? Mask::none : attrs.added ? Mask::by_y : Mask::by_x;
  return packed(request.in[In::x], [&]<class T, int kCount>() {
    const Tiling tiling(request.in[In::x], kCount);
    auto run = [=](const KernelArgs& args) {
      const Workspace workspace(args.workspace, tiling);
      auto* coefficients = reinterpret_cast<Coefficients*>(workspace.of_channels);
      const Incoming<T, kCount> incoming{mask,
                                         attrs.epsilon,
                                         operand<T>(args, In::dy),
                                         operand<T>(args, In::x),
                                         attrs.relu ? operand<T>(args, In::y) : nullptr,
                                         operand<float>(args, In::scale),
                                         attrs.relu ? operand<float>(args, In::bias) : nullptr,
                                         operand<float>(args, In::mean),
                                         operand<float>(args, In::variance)};
      using Sums = GradientSums<T, kCount>;
      for_tiles<kCount>(args, tiling, PartialSums<kCount, Sums>{Sums{incoming}, workspace.partial});
      for_blocks(args, tiling.channels,
                 SettleGradient{tiling, attrs.epsilon, attrs.given, workspace.partial,
                                operand<float>(args, In::scale), operand<float>(args, In::mean),
                                operand<float>(args, In::variance), coefficients,
                                result<float>(args, Out::dscale), result<float>(args, Out::dbias)});
      T* dz = result<T>(args, Out::dz);
      for_tiles<kCount>(args, tiling,
                        Backward<T, kCount>{incoming, coefficients, result<T>(args, Out::dx), dz});
    };
    return make_kernel(run, "channels last", Workspace::bytes<Coefficients>(tiling));
  });
}

}  // namespace lockstep
