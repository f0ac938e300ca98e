// SPDX-License-Identifier: Apache-2.0
// One block computes a column (the scores of one example).
#include <cmath>

#include "operators/kit/axis_loop.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/elements_cuda.h"
#include "operators/loss/labels_cuda.h"
#include "operators/loss/likelihood_cuda.h"
#include "operators/loss/loss.h"

namespace lockstep {
namespace {

struct Larger {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return b > a ? b : a;
  }
};

// The column's maximum, and log(sum(exp(x - maximum))), in all threads.
template <class T>
struct LogSum {
  T top, log;
};
template <class T>
__device__ LogSum<T> log_sum_exp(const T* x, const Columns& columns) {
  T top = -INFINITY;
  for (int64_t i = threadIdx.x; i < columns.size; i += kFoldThreads)
    top = Larger()(top, x[i * columns.inner]);
  top = fold_block(top, Larger());
  T total = 0;
  for (int64_t i = threadIdx.x; i < columns.size; i += kFoldThreads)
    total += ::exp(x[i * columns.inner] - top);
  return {top, ::log(fold_block(total, Add()))};
}

template <class T, bool kLog>
struct SoftmaxColumn {
  Columns columns;
  const T* x;
  T* y;
  __device__ void operator()(int64_t column) const {
    const int64_t at = columns.start(column);
    const LogSum<T> sum = log_sum_exp(x + at, columns);
    for (int64_t i = threadIdx.x; i < columns.size; i += kFoldThreads) {
      const int64_t k = at + i * columns.inner;
      const T value = x[k] - sum.top - sum.log;
      y[k] = kLog ? value : ::exp(value);
    }
  }
};

template <class T, bool kLog>
struct SoftmaxGradColumn {
  Columns columns;
  const T* dy;
  const T* y;
  T* dx;
  __device__ void operator()(int64_t column) const {
    const int64_t at = columns.start(column);
    T total = 0;
    for (int64_t i = threadIdx.x; i < columns.size; i += kFoldThreads) {
      const int64_t k = at + i * columns.inner;
      total += kLog ? dy[k] : dy[k] * y[k];
    }
    total = fold_block(total, Add());
    for (int64_t i = threadIdx.x; i < columns.size; i += kFoldThreads) {
      const int64_t k = at + i * columns.inner;
      dx[k] = kLog ? dy[k] - ::exp(y[k]) * total : y[k] * (dy[k] - total);
    }
  }
};

template <class Label>
struct CrossEntropyColumn {
  Columns columns;
  Weights<Label> weights;
  const float* x;
  float* log_prob;  // may alias x, or be null
  double* terms;
  __device__ void operator()(int64_t column) const {
    const int64_t at = columns.start(column);
    const double weight = weights.of(column);
    const bool counts = weights.counts(column);
    const float own = counts ? x[at + weights.labels[column] * columns.inner] : 0;
    const LogSum<float> sum = log_sum_exp(x + at, columns);  // all threads have read before any
                                                             // writes
    if (threadIdx.x == 0) terms[column] = counts ? -weight * (own - sum.top - sum.log) : 0;
    if (log_prob)
      for (int64_t i = threadIdx.x; i < columns.size; i += kFoldThreads) {
        const int64_t k = at + i * columns.inner;
        log_prob[k] = x[k] - sum.top - sum.log;
      }
  }
};

template <class Label>
struct CrossEntropyGradColumn {
  Columns columns;
  Weights<Label> weights;
  bool each;  // every column has a separate slope
  const float* dloss;
  const float* log_prob;
  const double* divisor;
  float* dx;  // may alias log_prob
  __device__ void operator()(int64_t column) const {
    const int64_t at = columns.start(column);
    const double weight = weights.of(column);
    const float slope = dloss[each ? column : 0];
    const float factor = weight == 0 ? 0 : static_cast<float>(slope * weight / *divisor);
    for (int64_t i = threadIdx.x; i < columns.size; i += kFoldThreads) {
      const int64_t k = at + i * columns.inner;
      dx[k] = factor * (::exp(log_prob[k]) - (i == weights.labels[column] ? 1.0F : 0.0F));
    }
  }
};

std::unique_ptr<Kernel> prepare_cross_entropy(const KernelRequest& request) {
  return of_labels(request, 1, [&]<class Label>() {
    const LabelLoss<Label> loss(request, request.in[0].dims, 1);
    auto run = [=](const KernelArgs& args) {
      auto* terms = reinterpret_cast<double*>(args.workspace);
      float* log_prob = args.out.size() > 1 ? args.out[1].as<float>() : nullptr;
      for_blocks(args, loss.around.columns(),
                 CrossEntropyColumn<Label>{Columns(loss.around), loss.weights(args),
                                           args.in[0].as<const float>(), log_prob, terms});
      loss.settle(args, terms, args.out[0].as<float>());
    };
    return make_kernel(run, "", loss.bytes_of_terms(), loss.explain());
  });
}

std::unique_ptr<Kernel> prepare_cross_entropy_grad(const KernelRequest& request) {
  return of_labels(request, 2, [&]<class Label>() {
    const LabelLoss<Label> loss(request, request.in[1].dims, 2);
    auto run = [=](const KernelArgs& args) {
      auto* divisor = reinterpret_cast<double*>(args.workspace);
      loss.settle_divisor(args, divisor);
      for_blocks(
          args, loss.around.columns(),
          CrossEntropyGradColumn<Label>{Columns(loss.around), loss.weights(args), loss.each(),
                                        args.in[0].as<const float>(), args.in[1].as<const float>(),
                                        divisor, args.out[0].as<float>()});
    };
    return make_kernel(run, "", sizeof(double));
  });
}

template <bool kLog>
std::unique_ptr<Kernel> prepare_softmax(const KernelRequest& request) {
  auto attributes = request.attributes();
  const AroundAxis a(request.in[0].dims, attributes.integer("axis", -1));
  return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
    return make_kernel([a](const KernelArgs& args) {
      for_blocks(args, a.columns(),
                 SoftmaxColumn<T, kLog>{Columns(a), args.in[0].as<const T>(), args.out[0].as<T>()});
    });
  });
}

template <bool kLog>
std::unique_ptr<Kernel> prepare_softmax_grad(const KernelRequest& request) {
  auto attributes = request.attributes();
  const AroundAxis a(request.in[0].dims, attributes.integer("axis", -1));
  return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
    return make_kernel([a](const KernelArgs& args) {
      for_blocks(args, a.columns(),
                 SoftmaxGradColumn<T, kLog>{Columns(a), args.in[0].as<const T>(),
                                            args.in[1].as<const T>(), args.out[0].as<T>()});
    });
  });
}

}  // namespace

std::vector<KernelEntry> loss_cuda() {
  const Refusal labels = every({takes<Float32>(), takes<Integers>(1)});
  const Refusal slopes = every({takes<Float32>(), takes<Float32>(1), takes<Integers>(2)});
  std::vector<KernelEntry> entries = likelihood_cuda();
  entries.insert(
      entries.end(),
      {{"Softmax", "", {{"GPU", takes<Floats>(), prepare_softmax<false>}}},
       {"LogSoftmax", "", {{"GPU", takes<Floats>(), prepare_softmax<true>}}},
       {"SoftmaxGrad", kOwnDomain, {{"GPU", takes<Floats>(), prepare_softmax_grad<false>}}},
       {"LogSoftmaxGrad", kOwnDomain, {{"GPU", takes<Floats>(), prepare_softmax_grad<true>}}},
       {"SoftmaxCrossEntropyLoss", "", {{"GPU", labels, prepare_cross_entropy}}},
       {"SoftmaxCrossEntropyLossGrad", kOwnDomain, {{"GPU", slopes, prepare_cross_entropy_grad}}}});
  return entries;
}

}  // namespace lockstep
