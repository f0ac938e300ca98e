// The weighted log-probability of each label, negated; and its gradient, which is 0 but at the
// labels.
#include "operators/loss/likelihood_cuda.h"

#include "operators/dispatch.h"
#include "operators/loss/labels_cuda.h"

namespace lockstep {
namespace {

template <class Label>
struct LikelihoodTerm {
  Columns columns;
  Weights<Label> weights;
  const float* x;
  double* terms;
  Fault* fault;
  __device__ void operator()(int64_t column) const {
    weights.raise_if_no_class(column, fault);
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
  bool each;  // every column has a slope of its own
  const float* dloss;
  const double* total;
  float* dx;
  __device__ void operator()(int64_t i) const {
    const int64_t row = i / columns.inner;
    const int64_t column = row / columns.size * columns.inner + i % columns.inner;
    const double weight = weights.of(column);
    const bool counts = weight != 0 && row % columns.size == weights.labels[column];
    dx[i] = counts ? static_cast<float>(-dloss[each ? column : 0] * weight / *total) : 0;
  }
};

template <class Label>
std::unique_ptr<Kernel> likelihood_kernel(const KernelRequest& request) {
  const CrossEntropyAttrs attrs = read_cross_entropy(request.attributes());
  const AroundAxis a(request.in[0].dims, 1);
  const bool weighted = request.in.size() > 2 && request.in[2].present();
  auto run = [=](const KernelArgs& args) {
    const auto weights = weights_of<Label>(attrs, a.size, args.in[1],
                                           weighted ? args.in[2].as<const float>() : nullptr);
    auto* terms = reinterpret_cast<double*>(args.workspace);
    for_elements(args, a.columns(),
                 LikelihoodTerm<Label>{Columns(a), weights, args.in[0].as<const float>(), terms,
                                       args.fault});
    settle_loss(args, attrs, weights, a.columns(), terms, args.out[0].as<float>());
  };
  return make_kernel(run, "", bytes_of_terms(a), no_class_of(a));
}

template <class Label>
std::unique_ptr<Kernel> likelihood_grad_kernel(const KernelRequest& request) {
  const CrossEntropyAttrs attrs = read_cross_entropy(request.attributes());
  const AroundAxis a(request.out[0].dims, 1);
  const bool weighted = request.in.size() > 3 && request.in[3].present();
  auto run = [=, count = request.out[0].count()](const KernelArgs& args) {
    const auto weights = weights_of<Label>(attrs, a.size, args.in[2],
                                           weighted ? args.in[3].as<const float>() : nullptr);
    auto* total = reinterpret_cast<double*>(args.workspace);
    settle_divisor(args, attrs, weights, a.columns(), total);
    for_elements(
        args, count,
        LikelihoodSlope<Label>{Columns(a), weights, attrs.reduction == "none",
                               args.in[0].as<const float>(), total, args.out[0].as<float>()});
  };
  return make_kernel(run, "", sizeof(double));
}

std::unique_ptr<Kernel> prepare_likelihood(const KernelRequest& request) {
  supported(request.in[0].dtype == DType::float32, "has no GPU kernel for ", request.in[0].dtype);
  return dispatch<int32_t, int64_t>(
      request.in[1].dtype, [&]<class Label>() { return likelihood_kernel<Label>(request); });
}

std::unique_ptr<Kernel> prepare_likelihood_grad(const KernelRequest& request) {
  supported(request.in[0].dtype == DType::float32, "has no GPU kernel for ", request.in[0].dtype);
  return dispatch<int32_t, int64_t>(
      request.in[2].dtype, [&]<class Label>() { return likelihood_grad_kernel<Label>(request); });
}

}  // namespace

std::vector<KernelEntry> likelihood_cuda() {
  return {{"NegativeLogLikelihoodLoss", "", prepare_likelihood},
          {"NegativeLogLikelihoodLossGrad", kOwnDomain, prepare_likelihood_grad}};
}

}  // namespace lockstep
