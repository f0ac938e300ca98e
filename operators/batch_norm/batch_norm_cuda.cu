// A channel is a block's. Sums run in double, in one fixed order.
#include "operators/batch_norm/batch_norm.h"
#include "operators/elements_cuda.h"

namespace lockstep {
namespace {

struct Add {
  __device__ double operator()(double a, double b) const { return a + b; }
};

// Where a channel's elements are: in `images` planes, `channels` planes apart.
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

struct ForwardChannel {
  Planes planes;
  float epsilon, momentum;
  bool of_batch;  // statistics of the batch, not given ones
  const float *x, *scale, *bias, *mean, *variance;
  float* y;                                                        // may lie over x
  float *next_mean, *next_variance, *batch_mean, *batch_variance;  // each may be null

  __device__ void operator()(int64_t c) const {
    const int64_t count = planes.count();
    double center = mean[c], spread = variance[c];
    if (of_batch) {
      double total = 0;
      for (int64_t i = threadIdx.x; i < count; i += kFoldThreads) total += x[planes.at(c, i)];
      center = fold_block(total, Add()) / static_cast<double>(count);
      double squares = 0;
      for (int64_t i = threadIdx.x; i < count; i += kFoldThreads) {
        const double away = x[planes.at(c, i)] - center;
        squares += away * away;
      }
      spread = fold_block(squares, Add()) / static_cast<double>(count);
    }
    const float factor = scale[c] / sqrtf(static_cast<float>(spread) + epsilon);
    for (int64_t i = threadIdx.x; i < count; i += kFoldThreads) {
      const int64_t at = planes.at(c, i);
      y[at] = factor * (x[at] - static_cast<float>(center)) + bias[c];
    }
    if (threadIdx.x > 0 || !of_batch) return;
    const auto m = static_cast<float>(center), v = static_cast<float>(spread);
    if (next_mean) next_mean[c] = momentum * mean[c] + (1 - momentum) * m;
    if (next_variance) next_variance[c] = momentum * variance[c] + (1 - momentum) * v;
    if (batch_mean) batch_mean[c] = m;
    if (batch_variance) batch_variance[c] = v;
  }
};

void require_float(const KernelRequest& request) {
  supported(request.in[0].dtype == DType::float32, "has no GPU kernel for ", request.in[0].dtype);
}

std::unique_ptr<Kernel> prepare_forward(const KernelRequest& request) {
  require_float(request);
  const BatchNormAttrs attrs = read_batch_norm(request.node);
  const Planes planes(request.in[0].dims);
  return make_kernel([=](const KernelArgs& args) {
    auto in = [&](std::size_t i) { return args.in[i].as<const float>(); };
    auto out = [&](std::size_t i) {
      return i < args.out.size() ? args.out[i].as<float>() : nullptr;
    };
    for_blocks(args, planes.channels,
               ForwardChannel{planes, attrs.epsilon, attrs.momentum, attrs.training, in(0), in(1),
                              in(2), in(3), in(4), out(0), out(1), out(2), out(3), out(4)});
  });
}

// Operands dy, x, scale, and the mean and variance that the forward pass normalised by.
struct BackwardChannel {
  Planes planes;
  float epsilon;
  bool given;  // mean and variance do not depend on x
  const float *dy, *x, *scale, *mean, *variance;
  float* dx;  // may lie over dy or x
  float *dscale, *dbias;

  __device__ void operator()(int64_t c) const {
    const int64_t count = planes.count();
    const float center = mean[c], inverse = 1 / sqrtf(variance[c] + epsilon);
    double sum = 0, product = 0;
    for (int64_t i = threadIdx.x; i < count; i += kFoldThreads) {
      const int64_t at = planes.at(c, i);
      sum += dy[at];
      product += static_cast<double>(dy[at]) * ((x[at] - center) * inverse);
    }
    sum = fold_block(sum, Add());
    product = fold_block(product, Add());
    const auto mean_dy = static_cast<float>(sum / static_cast<double>(count));
    const auto mean_product = static_cast<float>(product / static_cast<double>(count));
    const float factor = scale[c] * inverse;
    for (int64_t i = threadIdx.x; i < count; i += kFoldThreads) {
      const int64_t at = planes.at(c, i);
      const float along = (x[at] - center) * inverse;
      dx[at] = factor * (given ? dy[at] : dy[at] - mean_dy - along * mean_product);
    }
    if (threadIdx.x > 0) return;
    if (dscale) dscale[c] = static_cast<float>(product);
    if (dbias) dbias[c] = static_cast<float>(sum);
  }
};

std::unique_ptr<Kernel> prepare_grad(const KernelRequest& request) {
  require_float(request);
  AttributeReader reader = request.attributes();
  const float epsilon = reader.number("epsilon", 1e-5F);
  const bool given = reader.integer("given", 0) != 0;
  const Planes planes(request.in[1].dims);
  return make_kernel([=](const KernelArgs& args) {
    auto in = [&](std::size_t i) { return args.in[i].as<const float>(); };
    auto out = [&](std::size_t i) {
      return i < args.out.size() ? args.out[i].as<float>() : nullptr;
    };
    for_blocks(args, planes.channels,
               BackwardChannel{planes, epsilon, given, in(0), in(1), in(2), in(3), in(4), out(0),
                               out(1), out(2)});
  });
}

}  // namespace

std::vector<KernelEntry> batch_norm_cuda() {
  return {{"BatchNormalization", "", prepare_forward},
          {"BatchNormTrain", kOwnDomain, prepare_forward},
          {"BatchNormGrad", kOwnDomain, prepare_grad}};
}

}  // namespace lockstep
