#include <cmath>
#include <cstring>

#include "operators/dispatch.h"
#include "operators/norm/norm.h"
#include "operators/room.h"
#include "runtime/parallel.h"

namespace lockstep {
namespace {

struct Statistics {
  double mean = 0;
  double inverse_deviation = 0;
};

Statistics statistics_of(const float* x, int64_t count, double epsilon) {
  double mean = 0, square = 0;
  for (int64_t i = 0; i < count; ++i) mean += x[i];
  mean /= static_cast<double>(count);
  for (int64_t i = 0; i < count; ++i) square += (x[i] - mean) * (x[i] - mean);
  return {mean, 1 / std::sqrt(square / static_cast<double>(count) + epsilon)};
}

float epsilon_of(const KernelRequest& request) {
  auto attributes = request.attributes();
  return attributes.number("epsilon", 1e-5F);
}

void require_float(const KernelRequest& request) {
  supported(request.in[0].dtype == DType::float32, "has no CPU kernel for ", request.in[0].dtype);
}

// [N, C, plane]: the size of a plane.
int64_t plane_of(const Dims& x) { return element_count(x) / std::max<int64_t>(1, x[0] * x[1]); }

std::unique_ptr<Kernel> prepare_batch_norm(const KernelRequest& request) {
  require_float(request);
  const Dims& x = request.in[0].dims;
  return make_kernel([planes = x[0] * x[1], channels = x[1], plane = plane_of(x),
                      epsilon = epsilon_of(request),
                      threads = request.threads](const KernelArgs& args) {
    const float *scale = args.in[1].as<float>(), *bias = args.in[2].as<float>();
    const float *mean = args.in[3].as<float>(), *variance = args.in[4].as<float>();
    parallel_for(planes, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, plane)), threads,
                 [&](int64_t begin, int64_t end) {
                   for (int64_t p = begin; p < end; ++p) {
                     const int64_t c = p % channels;
                     const float slope = scale[c] / std::sqrt(variance[c] + epsilon);
                     const float* from = args.in[0].as<float>() + p * plane;
                     float* to = args.out[0].as<float>() + p * plane;
                     for (int64_t i = 0; i < plane; ++i)
                       to[i] = (from[i] - mean[c]) * slope + bias[c];
                   }
                 });
  });
}

std::unique_ptr<Kernel> prepare_instance_norm(const KernelRequest& request) {
  require_float(request);
  const Dims& x = request.in[0].dims;
  return make_kernel([planes = x[0] * x[1], channels = x[1], plane = plane_of(x),
                      epsilon = epsilon_of(request)](const KernelArgs& args) {
    for (int64_t p = 0; p < planes; ++p) {
      const float* from = args.in[0].as<float>() + p * plane;
      float* to = args.out[0].as<float>() + p * plane;
      const Statistics s = statistics_of(from, plane, epsilon);
      const double slope = args.in[1].as<float>()[p % channels] * s.inverse_deviation;
      for (int64_t i = 0; i < plane; ++i)
        to[i] =
            static_cast<float>((from[i] - s.mean) * slope + args.in[2].as<float>()[p % channels]);
    }
  });
}

// Scale and bias have the shape of the normalised axes.
std::unique_ptr<Kernel> prepare_layer_norm(const KernelRequest& request) {
  require_float(request);
  auto attributes = request.attributes();
  const Dims& x = request.in[0].dims;
  const int64_t axis = normal_axes({attributes.integer("axis", -1)}, x.size())[0];
  int64_t rows = 1;
  for (int64_t i = 0; i < axis; ++i) rows *= x[i];
  const int64_t length = element_count(x) / std::max<int64_t>(1, rows);
  const bool has_bias = request.in.size() > 2 && request.in[2].present();
  check(request.in[1].count() == length, "scale is ", text_of(request.in[1]), ", should have ",
        length, " elements");
  return make_kernel([=, epsilon = epsilon_of(request)](const KernelArgs& args) {
    const float* scale = args.in[1].as<float>();
    const float* bias = has_bias ? args.in[2].as<float>() : nullptr;
    for (int64_t row = 0; row < rows; ++row) {
      const float* from = args.in[0].as<float>() + row * length;
      float* to = args.out[0].as<float>() + row * length;
      const Statistics s = statistics_of(from, length, epsilon);
      for (int64_t i = 0; i < length; ++i)
        to[i] = static_cast<float>((from[i] - s.mean) * s.inverse_deviation * scale[i] +
                                   (bias ? bias[i] : 0));
      if (args.out.size() > 1 && args.out[1].data)
        args.out[1].as<float>()[row] = static_cast<float>(s.mean);
      if (args.out.size() > 2 && args.out[2].data)
        args.out[2].as<float>()[row] = static_cast<float>(s.inverse_deviation);
    }
  });
}

std::unique_ptr<Kernel> prepare_lrn(const KernelRequest& request) {
  require_float(request);
  auto attributes = request.attributes();
  const double alpha = attributes.number("alpha", 1e-4F), beta = attributes.number("beta", 0.75F);
  const double bias = attributes.number("bias", 1);
  const int64_t size = attributes.integer("size", 1);
  const Dims& x = request.in[0].dims;
  return make_kernel([=, planes = x[0] * x[1], channels = x[1],
                      plane = plane_of(x)](const KernelArgs& args) {
    const float* data = args.in[0].as<float>();
    for (int64_t p = 0; p < planes; ++p) {
      const int64_t c = p % channels;
      const int64_t first = std::max<int64_t>(0, c - (size - 1) / 2);
      const int64_t last = std::min(channels - 1, c + size / 2);
      for (int64_t i = 0; i < plane; ++i) {
        double squares = 0;
        for (int64_t k = first; k <= last; ++k) {
          const double near = data[(p - c + k) * plane + i];
          squares += near * near;
        }
        args.out[0].as<float>()[p * plane + i] =
            static_cast<float>(data[p * plane + i] /
                               std::pow(bias + alpha / static_cast<double>(size) * squares, beta));
      }
    }
  });
}

std::unique_ptr<Kernel> prepare_dropout(const KernelRequest& request) {
  return make_kernel(
      [bytes = request.in[0].bytes(), count = request.in[0].count()](const KernelArgs& args) {
        if (args.out[0].data != args.in[0].data && bytes > 0)
          std::memcpy(args.out[0].data, args.in[0].data, bytes);
        if (args.out.size() > 1 && args.out[1].data)
          std::fill_n(args.out[1].as<bool>(), count, true);
      });
}

}  // namespace

std::vector<KernelEntry> norm_cpu() {
  return {{"BatchNormalization", "", prepare_batch_norm},
          {"InstanceNormalization", "", prepare_instance_norm},
          {"LayerNormalization", "", prepare_layer_norm},
          {"LRN", "", prepare_lrn},
          {"Dropout", "", prepare_dropout}};
}

}  // namespace lockstep
