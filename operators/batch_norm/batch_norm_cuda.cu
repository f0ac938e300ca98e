// One block per channel. Sums are in double, in a fixed order.
#include "operators/batch_norm/batch_norm.h"
#include "operators/batch_norm/channels_last_cuda.h"
#include "operators/batch_norm/operands.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/elements_cuda.h"

namespace lockstep {
namespace {

// The places of a channel's elements: in `images` planes, `channels` planes apart.
struct Planes {
  int64_t images, channels, plane;
  explicit Planes(const Dims& x)
      : images(x[0]),
        channels(x[1]),
        plane(x[0] * x[1] == 0 ? 0 : element_count(x) / (x[0] * x[1])) {}
  __device__ int64_t count() const { return images * plane; }
  __device__ int64_t at(int64_t channel, int64_t i) const {
    return (i / plane * channels + channel) * plane + i % plane;
  }
};

template <class T>
struct ForwardChannel {
  Planes planes;
  float epsilon, momentum;
  bool of_batch;  // statistics of the batch, not given ones
  bool relu;
  const T *x, *z;  // z may be null
  const float *scale, *bias, *mean, *variance;
  T* y;                                                            // may lie over x
  float *next_mean, *next_variance, *batch_mean, *batch_variance;  // each may be null

  __device__ void operator()(int64_t c) const {
    const int64_t count = planes.count();
    double center = mean[c], spread = variance[c];
    if (of_batch) {
      double total = 0;
      for (int64_t i = threadIdx.x; i < count; i += kFoldThreads)
        total += computed(x[planes.at(c, i)]);
      center = fold_block(total, Add()) / static_cast<double>(count);
      double squares = 0;
      for (int64_t i = threadIdx.x; i < count; i += kFoldThreads) {
        const double away = computed(x[planes.at(c, i)]) - center;
        squares += away * away;
      }
      spread = fold_block(squares, Add()) / static_cast<double>(count);
    }
    const float factor = scale[c] / sqrtf(static_cast<float>(spread) + epsilon);
    for (int64_t i = threadIdx.x; i < count; i += kFoldThreads) {
      const int64_t at = planes.at(c, i);
      float value = factor * (computed(x[at]) - static_cast<float>(center)) + bias[c];
      if (z) value += computed(z[at]);
      y[at] = stored<T>(relu && value < 0 ? 0.0F : value);  // NaN stays NaN
    }
    if (threadIdx.x > 0 || !of_batch) return;
    const auto m = static_cast<float>(center), v = static_cast<float>(spread);
    if (next_mean) next_mean[c] = momentum * mean[c] + (1 - momentum) * m;
    if (next_variance) next_variance[c] = momentum * variance[c] + (1 - momentum) * v;
    if (batch_mean) batch_mean[c] = m;
    if (batch_variance) batch_variance[c] = v;
  }
};

std::unique_ptr<Kernel> prepare_forward(const KernelRequest& request) {
  using In = BatchNormIn;
  using Out = BatchNormOut;
  if (request.in[In::x].channel_block > 1) return channels_last_batch_norm(request);
  const BatchNormAttrs attrs = read_batch_norm(request.node);
  const Planes planes(request.in[In::x].dims);
  return dispatch<TensorFloats>(request.in[0].dtype, [&]<class Host>() {
    using T = DeviceType<Host>;
    return make_kernel([=](const KernelArgs& args) {
      for_blocks(
          args, planes.channels,
          ForwardChannel<T>{
              planes, attrs.epsilon, attrs.momentum, attrs.training, attrs.relu,
              operand<T>(args, In::x), operand<T>(args, In::z), operand<float>(args, In::scale),
              operand<float>(args, In::bias), operand<float>(args, In::mean),
              operand<float>(args, In::variance), result<T>(args, Out::y),
              result<float>(args, Out::new_mean), result<float>(args, Out::new_variance),
              result<float>(args, Out::saved_mean), result<float>(args, Out::saved_variance)});
    });
  });
}

// Operands dy, x, scale, and the mean and variance that the forward pass normalised by.
template <class T>
struct BackwardChannel {
  Planes planes;
  float epsilon;
  bool given;           // mean and variance do not depend on x
  const T *dy, *x, *y;  // with y, dy passes where that is positive
  const float *scale, *mean, *variance;
  T *dx, *dz;  // dx may lie over dy or x; dz may be null
  float *dscale, *dbias;

  __device__ float slope_at(int64_t at) const {
    return y && !(computed(y[at]) > 0) ? 0 : computed(dy[at]);
  }
  __device__ void operator()(int64_t c) const {
    const int64_t count = planes.count();
    const float center = mean[c], inverse = 1 / sqrtf(variance[c] + epsilon);
    double sum = 0, product = 0;
    for (int64_t i = threadIdx.x; i < count; i += kFoldThreads) {
      const int64_t at = planes.at(c, i);
      const float slope = slope_at(at);
      sum += slope;
      product += static_cast<double>(slope) * ((computed(x[at]) - center) * inverse);
    }
    sum = fold_block(sum, Add());
    product = fold_block(product, Add());
    const auto mean_dy = static_cast<float>(sum / static_cast<double>(count));
    const auto mean_product = static_cast<float>(product / static_cast<double>(count));
    const float factor = scale[c] * inverse;
    for (int64_t i = threadIdx.x; i < count; i += kFoldThreads) {
      const int64_t at = planes.at(c, i);
      const float along = (computed(x[at]) - center) * inverse, slope = slope_at(at);
      if (dz) dz[at] = stored<T>(slope);
      dx[at] = stored<T>(factor * (given ? slope : slope - mean_dy - along * mean_product));
    }
    if (threadIdx.x > 0) return;
    if (dscale) dscale[c] = static_cast<float>(product);
    if (dbias) dbias[c] = static_cast<float>(sum);
  }
};

std::unique_ptr<Kernel> prepare_grad(const KernelRequest& request) {
  using In = BatchNormGradIn;
  using Out = BatchNormGradOut;
  if (request.in[In::x].channel_block > 1) return channels_last_batch_norm_grad(request);
  const BatchNormGradAttrs attrs = read_batch_norm_grad(request.node);
  const Planes planes(request.in[In::x].dims);
  return dispatch<TensorFloats>(request.in[0].dtype, [&]<class Host>() {
    using T = DeviceType<Host>;
    return make_kernel([=](const KernelArgs& args) {
      for_blocks(args, planes.channels,
                 BackwardChannel<T>{planes, attrs.epsilon, attrs.given, operand<T>(args, In::dy),
                                    operand<T>(args, In::x),
                                    attrs.relu ? operand<T>(args, In::y) : nullptr,
                                    operand<float>(args, In::scale), operand<float>(args, In::mean),
                                    operand<float>(args, In::variance), result<T>(args, Out::dx),
                                    result<T>(args, Out::dz), result<float>(args, Out::dscale),
                                    result<float>(args, Out::dbias)});
    });
  });
}

}  // namespace

std::vector<KernelEntry> batch_norm_cuda() {
  const Refusal forward =
      every({takes<TensorFloats>(), whole_channels(0), float_vectors(BatchNormIn::scale), no_clip});
  const Refusal backward = every(
      {takes<TensorFloats>(), whole_channels(1), float_vectors(BatchNormGradIn::scale), no_clip});
  return {
      {"BatchNormalization", "", {{"GPU", forward, prepare_forward, batch_norm_layouts}}},
      {"BatchNormTrain", kOwnDomain, {{"GPU", forward, prepare_forward, batch_norm_layouts}}},
      {"BatchNormGrad", kOwnDomain, {{"GPU", backward, prepare_grad, batch_norm_grad_layouts}}}};
}

}  // namespace lockstep
