// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "operators/kit/axis_loop.h"
#include "operators/kit/dispatch.h"
#include "operators/loss/focal.h"
#include "operators/loss/labels.h"
#include "operators/loss/loss.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

// The minimum number of columns per thread.
int64_t grain_of(const AroundAxis& columns) {
  return std::max<int64_t>(1, 4096 / std::max<int64_t>(1, columns.size));
}

int64_t axis_of(const KernelRequest& request) {
  auto attributes = request.attributes();
  return attributes.integer("axis", -1);
}

// log(sum(exp(x - maximum))) of one column, and the maximum; without overflow.
template <class T>
std::pair<T, T> log_sum_exp(const T* x, int64_t size, int64_t stride) {
  T top = size > 0 ? x[0] : T(0);
  for (int64_t i = 1; i < size; ++i) top = std::max(top, x[i * stride]);
  T total = 0;
  for (int64_t i = 0; i < size; ++i) total += std::exp(x[i * stride] - top);
  return {std::log(total), top};
}

template <class T, bool kLog>
std::unique_ptr<Kernel> softmax_kernel(const KernelRequest& request, int64_t axis) {
  AroundAxis columns(request.in[0].dims, axis);
  return make_kernel([columns, threads = request.threads](const KernelArgs& args) {
    const T* x = args.in[0].as<T>();
    T* y = args.out[0].as<T>();
    parallel_for(columns.columns(), grain_of(columns), threads, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        const int64_t at = columns.start(c);
        auto [log_sum, top] = log_sum_exp(x + at, columns.size, columns.inner);
        for (int64_t i = 0; i < columns.size; ++i) {
          T value = x[at + i * columns.inner] - top - log_sum;
          y[at + i * columns.inner] = kLog ? value : std::exp(value);
        }
      }
    });
  });
}

template <class T, bool kLog>
std::unique_ptr<Kernel> softmax_grad_kernel(const KernelRequest& request, int64_t axis) {
  AroundAxis columns(request.in[0].dims, axis);
  return make_kernel([columns, threads = request.threads](const KernelArgs& args) {
    const T* dy = args.in[0].as<T>();
    const T* y = args.in[1].as<T>();
    T* dx = args.out[0].as<T>();
    parallel_for(columns.columns(), grain_of(columns), threads, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        const int64_t at = columns.start(c);
        T total = 0;
        for (int64_t i = 0; i < columns.size; ++i) {
          const int64_t k = at + i * columns.inner;
          total += kLog ? dy[k] : dy[k] * y[k];
        }
        for (int64_t i = 0; i < columns.size; ++i) {
          const int64_t k = at + i * columns.inner;
          dx[k] = kLog ? dy[k] - std::exp(y[k]) * total : y[k] * (dy[k] - total);
        }
      }
    });
  });
}

// The weights of a node's labels.
class LabelWeights {
 public:
  // `labels` is the index of the operand.
  LabelWeights(const KernelRequest& request, std::size_t labels, int64_t classes)
      : attrs_(read_cross_entropy(request.attributes())),
        errors_(request, labels, classes),
        classes_(classes) {}

  // A label's weight; 0 if the label is ignored. Throws if the label is out of range.
  template <class Label>
  double of(const Label* labels, int64_t place, const float* weights) const {
    const Label label = labels[place];
    if (attrs_.ignores && label == attrs_.ignore_index) return 0;
    if (label < 0 || label >= classes_) errors_.raise(label, place);
    return weights ? weights[label] : 1;
  }

  // The divisor of the weighted losses; 1 if no label counts, so that the mean is 0. Visits every
  // label: an invalid label throws here instead of in a parallel loop.
  template <class Label>
  double divisor(const Label* labels, int64_t count, const float* weights) const {
    double total = 0;
    for (int64_t i = 0; i < count; ++i) total += of(labels, i, weights);
    return attrs_.reduction == "mean" && total != 0 ? total : 1;
  }

  bool each() const { return attrs_.reduction == "none"; }

 private:
  CrossEntropyAttrs attrs_;
  LabelErrors errors_;
  int64_t classes_;
};

template <class Label>
std::unique_ptr<Kernel> cross_entropy_kernel(const KernelRequest& request) {
  AroundAxis columns(request.in[0].dims, 1);
  const LabelWeights counts(request, 1, columns.size);
  const bool weighted = request.in.size() > 2 && request.in[2].present();
  auto run = [=](const KernelArgs& args) {
    const float* x = args.in[0].as<float>();
    const Label* labels = args.in[1].as<Label>();
    const float* weights = weighted ? args.in[2].as<float>() : nullptr;
    float* log_prob = args.out.size() > 1 ? args.out[1].as<float>() : nullptr;
    float* loss = args.out[0].as<float>();
    const int64_t count = columns.columns();
    double total = 0;
    for (int64_t c = 0; c < count; ++c) {
      const int64_t at = columns.start(c);
      const double weight = counts.of(labels, c, weights);
      auto [log_sum, top] = log_sum_exp(x + at, columns.size, columns.inner);
      // Read before log_prob is written, since log_prob may alias x.
      const float own = weight == 0 ? 0 : x[at + labels[c] * columns.inner] - top - log_sum;
      if (log_prob)
        for (int64_t i = 0; i < columns.size; ++i)
          log_prob[at + i * columns.inner] = x[at + i * columns.inner] - top - log_sum;
      if (counts.each())
        loss[c] = static_cast<float>(-weight * own);
      else
        total -= weight * own;
    }
    if (!counts.each())
      loss[0] = static_cast<float>(total / counts.divisor(labels, count, weights));
  };
  return make_kernel(run);
}

template <class Label>
std::unique_ptr<Kernel> cross_entropy_grad_kernel(const KernelRequest& request) {
  AroundAxis columns(request.in[1].dims, 1);
  const LabelWeights counts(request, 2, columns.size);
  const bool weighted = request.in.size() > 3 && request.in[3].present();
  auto run = [=, threads = request.threads](const KernelArgs& args) {
    const float* dloss = args.in[0].as<float>();
    const float* log_prob = args.in[1].as<float>();
    const Label* labels = args.in[2].as<Label>();
    const float* weights = weighted ? args.in[3].as<float>() : nullptr;
    float* dx = args.out[0].as<float>();
    const int64_t count = columns.columns();
    const double total = counts.divisor(labels, count, weights);
    parallel_for(count, grain_of(columns), threads, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        const int64_t at = columns.start(c);
        const double weight = counts.of(labels, c, weights);
        const float slope = dloss[counts.each() ? c : 0];
        const float factor = weight == 0 ? 0 : static_cast<float>(slope * weight / total);
        for (int64_t i = 0; i < columns.size; ++i) {
          const int64_t k = at + i * columns.inner;
          dx[k] = factor * (std::exp(log_prob[k]) - (i == labels[c] ? 1.0F : 0.0F));
        }
      }
    });
  };
  return make_kernel(run);
}

// The negated weighted log-probability of each label.
template <class Label>
std::unique_ptr<Kernel> likelihood_kernel(const KernelRequest& request) {
  AroundAxis columns(request.in[0].dims, 1);
  const LabelWeights counts(request, 1, columns.size);
  const bool weighted = request.in.size() > 2 && request.in[2].present();
  return make_kernel([=](const KernelArgs& args) {
    const float* x = args.in[0].as<float>();
    const Label* labels = args.in[1].as<Label>();
    const float* weights = weighted ? args.in[2].as<float>() : nullptr;
    float* loss = args.out[0].as<float>();
    const int64_t count = columns.columns();
    double total = 0;
    for (int64_t c = 0; c < count; ++c) {
      const double weight = counts.of(labels, c, weights);
      const double term =
          weight == 0 ? 0 : -weight * x[columns.start(c) + labels[c] * columns.inner];
      if (counts.each()) loss[c] = static_cast<float>(term);
      total += term;
    }
    if (!counts.each())
      loss[0] = static_cast<float>(total / counts.divisor(labels, count, weights));
  });
}

template <class Label>
std::unique_ptr<Kernel> likelihood_grad_kernel(const KernelRequest& request) {
  AroundAxis columns(request.out[0].dims, 1);
  const LabelWeights counts(request, 2, columns.size);
  const bool weighted = request.in.size() > 3 && request.in[3].present();
  return make_kernel([=, size = request.out[0].count()](const KernelArgs& args) {
    const float* dloss = args.in[0].as<float>();
    const Label* labels = args.in[2].as<Label>();
    const float* weights = weighted ? args.in[3].as<float>() : nullptr;
    float* dx = args.out[0].as<float>();
    const int64_t count = columns.columns();
    const double total = counts.divisor(labels, count, weights);
    std::fill_n(dx, size, 0.0F);
    for (int64_t c = 0; c < count; ++c) {
      const double weight = counts.of(labels, c, weights);
      if (weight == 0) continue;
      const float slope = dloss[counts.each() ? c : 0];
      dx[columns.start(c) + labels[c] * columns.inner] =
          static_cast<float>(-slope * weight / total);
    }
  });
}

std::unique_ptr<Kernel> prepare_likelihood(const KernelRequest& request) {
  return dispatch<Integers>(request.in[1].dtype,
                            [&]<class Label>() { return likelihood_kernel<Label>(request); });
}

std::unique_ptr<Kernel> prepare_likelihood_grad(const KernelRequest& request) {
  return dispatch<Integers>(request.in[2].dtype,
                            [&]<class Label>() { return likelihood_grad_kernel<Label>(request); });
}

template <bool kLog>
std::unique_ptr<Kernel> prepare_softmax(const KernelRequest& request) {
  return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
    return softmax_kernel<T, kLog>(request, axis_of(request));
  });
}

template <bool kLog>
std::unique_ptr<Kernel> prepare_softmax_grad(const KernelRequest& request) {
  return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
    return softmax_grad_kernel<T, kLog>(request, axis_of(request));
  });
}

std::unique_ptr<Kernel> prepare_cross_entropy(const KernelRequest& request) {
  return dispatch<Integers>(request.in[1].dtype,
                            [&]<class Label>() { return cross_entropy_kernel<Label>(request); });
}

std::unique_ptr<Kernel> prepare_cross_entropy_grad(const KernelRequest& request) {
  return dispatch<Integers>(request.in[2].dtype, [&]<class Label>() {
    return cross_entropy_grad_kernel<Label>(request);
  });
}

}  // namespace

std::vector<KernelEntry> loss_cpu() {
  const Refusal labels = every({takes<Float32>(), takes<Integers>(1)});
  const Refusal gradients = every({takes<Float32>(), takes<Integers>(2)});
  const Refusal slopes = every({takes<Float32>(), takes<Float32>(1), takes<Integers>(2)});
  std::vector<KernelEntry> entries{
      {"Softmax", "", {{"CPU", takes<Floats>(), prepare_softmax<false>}}},
      {"LogSoftmax", "", {{"CPU", takes<Floats>(), prepare_softmax<true>}}},
      {"SoftmaxGrad", kOwnDomain, {{"CPU", takes<Floats>(), prepare_softmax_grad<false>}}},
      {"LogSoftmaxGrad", kOwnDomain, {{"CPU", takes<Floats>(), prepare_softmax_grad<true>}}},
      {"NegativeLogLikelihoodLoss", "", {{"CPU", labels, prepare_likelihood}}},
      {"NegativeLogLikelihoodLossGrad", kOwnDomain, {{"CPU", gradients, prepare_likelihood_grad}}},
      {"SoftmaxCrossEntropyLoss", "", {{"CPU", labels, prepare_cross_entropy}}},
      {"SoftmaxCrossEntropyLossGrad", kOwnDomain, {{"CPU", slopes, prepare_cross_entropy_grad}}}};
  for (KernelEntry& entry : focal_cpu()) entries.push_back(std::move(entry));
  return entries;
}

}  // namespace lockstep
