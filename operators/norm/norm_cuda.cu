// SPDX-License-Identifier: Apache-2.0
// One block computes a row; sums are in double, in a fixed order.
#include "operators/kit/dispatch.h"
#include "operators/kit/elements_cuda.h"
#include "operators/norm/norm.h"
#include "operators/norm/rows.h"

namespace lockstep {
namespace {

template <class Term>
__device__ double sum_over(int64_t count, const Term& term) {
  double total = 0;
  for (int64_t i = threadIdx.x; i < count; i += kFoldThreads) total += term(i);
  return fold_block(total, Add());
}

struct RowStatistics {
  double mean, inverse_deviation;
};

__device__ RowStatistics statistics_of(const float* x, int64_t count, double epsilon) {
  const auto size = static_cast<double>(count);
  const double mean = sum_over(count, [&](int64_t i) { return double(x[i]); }) / size;
  const double square =
      sum_over(count, [&](int64_t i) { return (x[i] - mean) * (x[i] - mean); }) / size;
  return {mean, 1 / ::sqrt(square + epsilon)};
}

struct NormaliseRow {
  NormRows rows;
  const float *x, *scale, *bias;        // no bias: null
  float *y, *mean, *inverse_deviation;  // the last two may be null
  __device__ void operator()(int64_t row) const {
    const float* from = x + row * rows.length;
    const RowStatistics s = statistics_of(from, rows.length, rows.epsilon);
    for (int64_t i = threadIdx.x; i < rows.length; i += kFoldThreads) {
      const int64_t k = rows.scale_of(row, i);
      y[row * rows.length + i] = static_cast<float>(
          (from[i] - s.mean) * s.inverse_deviation * scale[k] + (bias ? bias[k] : 0.0F));
    }
    if (threadIdx.x > 0) return;
    if (mean) mean[row] = static_cast<float>(s.mean);
    if (inverse_deviation) inverse_deviation[row] = static_cast<float>(s.inverse_deviation);
  }
};

std::unique_ptr<Kernel> forward(const NormRows& rows) {
  return make_kernel([rows](const KernelArgs& args) {
    auto in = [&](std::size_t i) {
      return i < args.in.size() ? args.in[i].as<const float>() : nullptr;
    };
    auto out = [&](std::size_t i) {
      return i < args.out.size() ? args.out[i].as<float>() : nullptr;
    };
    for_blocks(args, rows.count, NormaliseRow{rows, in(0), in(1), in(2), out(0), out(1), out(2)});
  });
}

// The CPU's kernel has the formula.
struct NormaliseRowBack {
  NormRows rows;
  const float *dy, *x, *scale;
  float* dx;
  RowStatistics* of_row;
  __device__ void operator()(int64_t row) const {
    const float *from = x + row * rows.length, *g = dy + row * rows.length;
    const RowStatistics s = statistics_of(from, rows.length, rows.epsilon);
    auto scaled = [&](int64_t i) { return double(g[i]) * scale[rows.scale_of(row, i)]; };
    auto normal = [&](int64_t i) { return (from[i] - s.mean) * s.inverse_deviation; };
    const auto size = static_cast<double>(rows.length);
    const double mean = sum_over(rows.length, scaled) / size;
    const double slope =
        sum_over(rows.length, [&](int64_t i) { return scaled(i) * normal(i); }) / size;
    for (int64_t i = threadIdx.x; i < rows.length; i += kFoldThreads)
      dx[row * rows.length + i] =
          static_cast<float>((scaled(i) - mean - normal(i) * slope) * s.inverse_deviation);
    if (threadIdx.x == 0) of_row[row] = s;
  }
};

// The gradients of a scale and its bias, from all elements that share them.
struct ScaleBack {
  NormRows rows;
  const float *dy, *x;
  const RowStatistics* of_row;
  float *dscale, *dbias;  // either may be null
  __device__ void operator()(int64_t k) const {
    const int64_t of_each = rows.channels > 0 ? rows.length : 1;  // elements of a row that share it
    const int64_t sharing = rows.channels > 0 ? rows.count / rows.channels : rows.count;
    auto at = [&](int64_t n) {
      return rows.channels > 0 ? ((n / of_each) * rows.channels + k) * rows.length + n % of_each
                               : n * rows.length + k;
    };
    const double product = sum_over(sharing * of_each, [&](int64_t n) {
      const RowStatistics& s = of_row[at(n) / rows.length];
      return dy[at(n)] * (x[at(n)] - s.mean) * s.inverse_deviation;
    });
    const double sum = sum_over(sharing * of_each, [&](int64_t n) { return double(dy[at(n)]); });
    if (threadIdx.x > 0) return;
    if (dscale) dscale[k] = static_cast<float>(product);
    if (dbias) dbias[k] = static_cast<float>(sum);
  }
};

std::unique_ptr<Kernel> backward(const NormRows& rows, int64_t scales) {
  return make_kernel(
      [rows, scales](const KernelArgs& args) {
        const auto *dy = args.in[0].as<const float>(), *x = args.in[1].as<const float>();
        auto* of_row = reinterpret_cast<RowStatistics*>(args.workspace);
        for_blocks(args, rows.count,
                   NormaliseRowBack{rows, dy, x, args.in[2].as<const float>(),
                                    args.out[0].as<float>(), of_row});
        for_blocks(
            args, scales,
            ScaleBack{rows, dy, x, of_row, args.out[1].as<float>(), args.out[2].as<float>()});
      },
      "", sizeof(RowStatistics) * rows.count);
}

struct LrnElement {
  Lrn lrn;
  const float* x;
  float* y;
  __device__ void operator()(int64_t at) const {
    y[at] = static_cast<float>(x[at] / ::pow(lrn.base(x, lrn.channel(at), at), lrn.beta));
  }
};
struct LrnGradElement {
  Lrn lrn;
  const float *dy, *x;
  float* dx;
  __device__ void operator()(int64_t at) const {
    const int64_t c = lrn.channel(at);
    double around = 0;
    for (int64_t k = lrn.first_with(c); k <= lrn.last_with(c); ++k) {
      const int64_t there = at + (k - c) * lrn.plane;
      around += dy[there] * x[there] * ::pow(lrn.base(x, k, there), -lrn.beta - 1);
    }
    dx[at] = static_cast<float>(dy[at] * ::pow(lrn.base(x, c, at), -lrn.beta) -
                                lrn.slope() * x[at] * around);
  }
};

std::unique_ptr<Kernel> prepare_lrn(const KernelRequest& request) {
  return make_kernel([lrn = lrn_of(request)](const KernelArgs& args) {
    for_elements(args, lrn.planes * lrn.plane,
                 LrnElement{lrn, args.in[0].as<const float>(), args.out[0].as<float>()});
  });
}

std::unique_ptr<Kernel> prepare_lrn_grad(const KernelRequest& request) {
  return make_kernel([lrn = lrn_of(request)](const KernelArgs& args) {
    for_elements(args, lrn.planes * lrn.plane,
                 LrnGradElement{lrn, args.in[0].as<const float>(), args.in[1].as<const float>(),
                                args.out[0].as<float>()});
  });
}

std::unique_ptr<Kernel> prepare_instance_norm(const KernelRequest& request) {
  return forward(planes_of(request, 0));
}
std::unique_ptr<Kernel> prepare_layer_norm(const KernelRequest& request) {
  return forward(last_axes_of(request, 0));
}
std::unique_ptr<Kernel> prepare_instance_norm_grad(const KernelRequest& request) {
  return backward(planes_of(request, 1), request.in[2].count());
}
std::unique_ptr<Kernel> prepare_layer_norm_grad(const KernelRequest& request) {
  return backward(last_axes_of(request, 1), request.in[2].count());
}

}  // namespace

std::vector<KernelEntry> norm_cuda() {
  const Refusal floats = takes<Float32>();
  return {{"InstanceNormalization", "", {{"GPU", floats, prepare_instance_norm}}},
          {"LayerNormalization", "", {{"GPU", floats, prepare_layer_norm}}},
          {"LRN", "", {{"GPU", floats, prepare_lrn}}},
          {"InstanceNormGrad", kOwnDomain, {{"GPU", floats, prepare_instance_norm_grad}}},
          {"LayerNormGrad", kOwnDomain, {{"GPU", floats, prepare_layer_norm_grad}}},
          {"LrnGrad", kOwnDomain, {{"GPU", floats, prepare_lrn_grad}}}};
}

}  // namespace lockstep
