// SPDX-License-Identifier: Apache-2.0
// Each row is normalised separately: a plane of a channel, or the last axes of an example. The sums
// over rows (dscale and dbias) visit rows in order, for any number of threads.
#include <cmath>
#include <cstring>

#include "operators/kit/dispatch.h"
#include "operators/kit/operator_helpers.h"
#include "operators/norm/norm.h"
#include "operators/norm/rows.h"
#include "runtime/threads/parallel.h"

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

// The minimum number of rows per thread.
int64_t grain_of(const NormRows& rows) {
  return std::max<int64_t>(1, 8192 / std::max<int64_t>(1, rows.length));
}

std::unique_ptr<Kernel> forward(const NormRows& rows, int threads) {
  return make_kernel([rows, threads](const KernelArgs& args) {
    const float* scale = args.in[1].as<float>();
    const float* bias = args.in.size() > 2 ? args.in[2].as<float>() : nullptr;
    auto statistic = [&](std::size_t i, int64_t row, double value) {
      if (i < args.out.size() && args.out[i].data)
        args.out[i].as<float>()[row] = static_cast<float>(value);
    };
    parallel_for(rows.count, grain_of(rows), threads, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const float* from = args.in[0].as<float>() + row * rows.length;
        float* to = args.out[0].as<float>() + row * rows.length;
        const Statistics s = statistics_of(from, rows.length, rows.epsilon);
        for (int64_t i = 0; i < rows.length; ++i) {
          const int64_t k = rows.scale_of(row, i);
          to[i] = static_cast<float>((from[i] - s.mean) * s.inverse_deviation * scale[k] +
                                     (bias ? bias[k] : 0));
        }
        statistic(1, row, s.mean);
        statistic(2, row, s.inverse_deviation);
      }
    });
  });
}

// With g = dy * scale and n the normalised x:  dx = (g - mean(g) - n * mean(g * n)) / deviation,
// dscale = sum of dy * n, dbias = sum of dy over all rows that share them.
std::unique_ptr<Kernel> backward(const NormRows& rows, int64_t scales, int threads) {
  return make_kernel(
      [rows, scales, threads](const KernelArgs& args) {
        const float *dy = args.in[0].as<float>(), *x = args.in[1].as<float>(),
                    *scale = args.in[2].as<float>();
        auto* of_row = reinterpret_cast<Statistics*>(args.workspace);
        auto* sums = reinterpret_cast<double*>(of_row + rows.count);
        parallel_for(rows.count, grain_of(rows), threads, [&](int64_t begin, int64_t end) {
          for (int64_t row = begin; row < end; ++row) {
            const float *from = x + row * rows.length, *g = dy + row * rows.length;
            float* to = args.out[0].as<float>() + row * rows.length;
            const Statistics s = statistics_of(from, rows.length, rows.epsilon);
            of_row[row] = s;
            double mean = 0, slope = 0;
            for (int64_t i = 0; i < rows.length; ++i) {
              const double scaled = static_cast<double>(g[i]) * scale[rows.scale_of(row, i)];
              mean += scaled;
              slope += scaled * (from[i] - s.mean) * s.inverse_deviation;
            }
            mean /= static_cast<double>(rows.length);
            slope /= static_cast<double>(rows.length);
            for (int64_t i = 0; i < rows.length; ++i) {
              const double scaled = static_cast<double>(g[i]) * scale[rows.scale_of(row, i)];
              const double normal = (from[i] - s.mean) * s.inverse_deviation;
              to[i] = static_cast<float>((scaled - mean - normal * slope) * s.inverse_deviation);
            }
          }
        });
        std::fill_n(sums, 2 * scales, 0.0);
        for (int64_t row = 0; row < rows.count; ++row)
          for (int64_t i = 0; i < rows.length; ++i) {
            const int64_t at = row * rows.length + i, k = rows.scale_of(row, i);
            sums[k] += dy[at] * (x[at] - of_row[row].mean) * of_row[row].inverse_deviation;
            sums[scales + k] += dy[at];
          }
        for (int64_t k = 0; k < scales; ++k) {
          if (args.out[1].data) args.out[1].as<float>()[k] = static_cast<float>(sums[k]);
          if (args.out[2].data) args.out[2].as<float>()[k] = static_cast<float>(sums[scales + k]);
        }
      },
      "", sizeof(Statistics) * rows.count + sizeof(double) * 2 * scales);
}

std::unique_ptr<Kernel> prepare_lrn(const KernelRequest& request) {
  return make_kernel([lrn = lrn_of(request), threads = request.threads](const KernelArgs& args) {
    const float* x = args.in[0].as<float>();
    parallel_for(lrn.planes, 1, threads, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin * lrn.plane; at < end * lrn.plane; ++at)
        args.out[0].as<float>()[at] =
            static_cast<float>(x[at] / std::pow(lrn.base(x, lrn.channel(at), at), lrn.beta));
    });
  });
}

// x of channel c also enters the divisors of the channels k around c.
std::unique_ptr<Kernel> prepare_lrn_grad(const KernelRequest& request) {
  return make_kernel([lrn = lrn_of(request), threads = request.threads](const KernelArgs& args) {
    const float *dy = args.in[0].as<float>(), *x = args.in[1].as<float>();
    parallel_for(lrn.planes, 1, threads, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin * lrn.plane; at < end * lrn.plane; ++at) {
        const int64_t c = lrn.channel(at);
        double around = 0;
        for (int64_t k = lrn.first_with(c); k <= lrn.last_with(c); ++k) {
          const int64_t there = at + (k - c) * lrn.plane;
          around += dy[there] * x[there] * std::pow(lrn.base(x, k, there), -lrn.beta - 1);
        }
        args.out[0].as<float>()[at] = static_cast<float>(
            dy[at] * std::pow(lrn.base(x, c, at), -lrn.beta) - lrn.slope() * x[at] * around);
      }
    });
  });
}

std::unique_ptr<Kernel> prepare_instance_norm(const KernelRequest& request) {
  return forward(planes_of(request, 0), request.threads);
}
std::unique_ptr<Kernel> prepare_layer_norm(const KernelRequest& request) {
  return forward(last_axes_of(request, 0), request.threads);
}
std::unique_ptr<Kernel> prepare_instance_norm_grad(const KernelRequest& request) {
  return backward(planes_of(request, 1), request.in[2].count(), request.threads);
}
std::unique_ptr<Kernel> prepare_layer_norm_grad(const KernelRequest& request) {
  return backward(last_axes_of(request, 1), request.in[2].count(), request.threads);
}

}  // namespace

std::vector<KernelEntry> norm_cpu() {
  const Refusal floats = takes<Float32>();
  return {{"InstanceNormalization", "", {{"CPU", floats, prepare_instance_norm}}},
          {"LayerNormalization", "", {{"CPU", floats, prepare_layer_norm}}},
          {"LRN", "", {{"CPU", floats, prepare_lrn}}},
          {"InstanceNormGrad", kOwnDomain, {{"CPU", floats, prepare_instance_norm_grad}}},
          {"LayerNormGrad", kOwnDomain, {{"CPU", floats, prepare_layer_norm_grad}}},
          {"LrnGrad", kOwnDomain, {{"CPU", floats, prepare_lrn_grad}}}};
}

}  // namespace lockstep
