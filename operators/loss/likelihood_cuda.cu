// SPDX-License-Identifier: Apache-2.0
// The negated weighted log-probability of each label, and its gradient, which is 0 except at the
// labels.
#include "operators/kit/dispatch.h"
#include "operators/loss/labels_cuda.h"
#include "operators/loss/likelihood_cuda.h"

namespace lockstep {
namespace {

template <class Label>
struct LikelihoodTerm {
  Columns columns;
  Weights<Label> weights;
  const float* x;
  double* terms;
  __device__ void operator()(int64_t column) const {
    const double weight = weights.of(column);
    terms[column] =
        weight == 0 ? 0
                    : -weight * x[columns.start(column) + weights.labels[column] * columns.inner];
  }
};

template <class Label>
struct LikelihoodSlope {
  Columns columns;
  Weights<Label> weights;
  bool each;  // every column has a separate slope
  const float* dloss;
  const double* divisor;
  float* dx;
  __device__ void operator()(int64_t i) const {
    const int64_t row = i / columns.inner;
    const int64_t column = row / columns.size * columns.inner + i % columns.inner;
    const double weight = weights.of(column);
    const bool counts = weight != 0 && row % columns.size == weights.labels[column];
    dx[i] = counts ? static_cast<float>(-dloss[each ? column : 0] * weight / *divisor) : 0;
  }
};

std::unique_ptr<Kernel> prepare_likelihood(const KernelRequest& request) {
  return of_labels(request, 1, [&]<class Label>() {
    const LabelLoss<Label> loss(request, request.in[0].dims, 1);
    auto run = [=](const KernelArgs& args) {
      auto* terms = reinterpret_cast<double*>(args.workspace);
      for_elements(args, loss.around.columns(),
                   LikelihoodTerm<Label>{Columns(loss.around), loss.weights(args),
                                         args.in[0].as<const float>(), terms});
      loss.settle(args, terms, args.out[0].as<float>());
    };
    return make_kernel(run, "", loss.bytes_of_terms(), loss.explain());
  });
}

std::unique_ptr<Kernel> prepare_likelihood_grad(const KernelRequest& request) {
  return of_labels(request, 2, [&]<class Label>() {
    const LabelLoss<Label> loss(request, request.out[0].dims, 2);
    auto run = [=, count = request.out[0].count()](const KernelArgs& args) {
      auto* divisor = reinterpret_cast<double*>(args.workspace);
      loss.settle_divisor(args, divisor);
      for_elements(
          args, count,
          LikelihoodSlope<Label>{Columns(loss.around), loss.weights(args), loss.each(),
                                 args.in[0].as<const float>(), divisor, args.out[0].as<float>()});
    };
    return make_kernel(run, "", sizeof(double));
  });
}

}  // namespace

std::vector<KernelEntry> likelihood_cuda() {
  const Refusal labels = every({takes<Float32>(), takes<Integers>(1)});
  const Refusal gradients = every({takes<Float32>(), takes<Integers>(2)});
  return {
      {"NegativeLogLikelihoodLoss", "", {{"GPU", labels, prepare_likelihood}}},
      {"NegativeLogLikelihoodLossGrad", kOwnDomain, {{"GPU", gradients, prepare_likelihood_grad}}}};
}

}  // namespace lockstep
