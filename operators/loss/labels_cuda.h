// SPDX-License-Identifier: Apache-2.0
// GPU helpers for losses with labels: weights of labels, and reductions of the terms.
#pragma once

#include <algorithm>

#include "operators/kit/axis_loop.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/elements_cuda.h"
#include "operators/loss/labels.h"
#include "operators/loss/loss.h"

namespace lockstep {

struct Columns {
  int64_t size, inner;
  explicit Columns(const AroundAxis& a) : size(a.size), inner(a.inner) {}
  __device__ int64_t start(int64_t column) const {
    return column / inner * size * inner + column % inner;
  }
};

// A label's weight; 0 if the label is ignored or out of range. settle() raises a fault for a label
// out of range.
template <class Label>
struct Weights {
  const Label* labels;
  const float* weights;  // null: all 1
  int64_t classes;
  bool ignores;
  int64_t ignored;
  __device__ bool is_class(int64_t column) const {
    return labels[column] >= 0 && labels[column] < classes;
  }
  __device__ bool is_ignored(int64_t column) const { return ignores && labels[column] == ignored; }
  __device__ double of(int64_t column) const {
    if (is_ignored(column) || !is_class(column)) return 0;
    return weights ? weights[labels[column]] : 1;
  }
  // Raises a fault for the first column with a wrong label. All threads of one block call this, so
  // that a single thread writes the fault.
  __device__ void raise_first_wrong(int64_t count, Fault* fault) const {
    int64_t wrong = count;
    for (int64_t c = threadIdx.x; c < count && wrong == count; c += kFoldThreads)
      if (!is_class(c) && !is_ignored(c)) wrong = c;
    wrong = fold_block(wrong, Least());
    if (threadIdx.x == 0 && wrong < count) raise(fault, labels[wrong], wrong);
  }
  __device__ bool counts(int64_t column) const { return of(column) != 0; }
};

// The divisor of the sum of terms. If no label counts, all terms and the mean are 0.
__device__ inline double divisor_of(bool mean, double weight) {
  return mean && weight != 0 ? weight : 1;
}

template <class Label>
struct TotalLoss {
  Weights<Label> weights;
  int64_t count;
  bool mean;
  const double* terms;
  float* loss;
  Fault* fault;
  __device__ void operator()(int64_t) const {
    double total = 0, weight = 0;
    for (int64_t c = threadIdx.x; c < count; c += kFoldThreads) {
      total += terms[c];
      weight += weights.of(c);
    }
    total = fold_block(total, Add());
    weight = fold_block(weight, Add());
    weights.raise_first_wrong(count, fault);
    if (threadIdx.x == 0) *loss = static_cast<float>(total / divisor_of(mean, weight));
  }
};
template <class Label>
struct CheckLabels {
  Weights<Label> weights;
  int64_t count;
  Fault* fault;
  __device__ void operator()(int64_t) const { weights.raise_first_wrong(count, fault); }
};
struct EachLoss {
  const double* terms;
  float* loss;
  __device__ void operator()(int64_t column) const {
    loss[column] = static_cast<float>(terms[column]);
  }
};

template <class Label>
struct TotalWeight {
  Weights<Label> weights;
  int64_t count;
  bool mean;
  double* total;
  __device__ void operator()(int64_t) const {
    double weight = 0;
    for (int64_t c = threadIdx.x; c < count; c += kFoldThreads) weight += weights.of(c);
    weight = fold_block(weight, Add());
    if (threadIdx.x == 0) *total = divisor_of(mean, weight);
  }
};

// A loss of scores (dimension 1 is the class) and labels, for GPU kernels.
template <class Label>
class LabelLoss {
 public:
  // `labels` is the index of the operand; class weights, if any, are the next operand.
  LabelLoss(const KernelRequest& request, const Dims& scores, std::size_t labels)
      : around(scores, 1),
        attrs_(read_cross_entropy(request.attributes())),
        labels_(labels),
        errors_(request, labels, around.size),
        weighted_(request.in.size() > labels + 1 && request.in[labels + 1].present()) {}

  const AroundAxis around;

  // True if the loss is not reduced: every label has a separate loss.
  bool each() const { return attrs_.reduction == "none"; }

  Weights<Label> weights(const KernelArgs& args) const {
    return {args.in[labels_].template as<const Label>(),
            weighted_ ? args.in[labels_ + 1].template as<const float>() : nullptr, around.size,
            attrs_.ignores, attrs_.ignore_index};
  }

  // Reduces the terms of all labels to the loss. Raises a fault for a label that is no class.
  void settle(const KernelArgs& args, const double* terms, float* loss) const {
    const int64_t count = around.columns();
    if (!each())
      return for_blocks(args, 1,
                        TotalLoss<Label>{weights(args), count, mean(), terms, loss, args.fault});
    for_blocks(args, 1, CheckLabels<Label>{weights(args), count, args.fault});
    for_elements(args, count, EachLoss{terms, loss});
  }
  // Computes the divisor of the loss.
  void settle_divisor(const KernelArgs& args, double* divisor) const {
    for_blocks(args, 1, TotalWeight<Label>{weights(args), around.columns(), mean(), divisor});
  }

  std::size_t bytes_of_terms() const {
    return std::max<int64_t>(around.columns(), 1) * sizeof(double);
  }
  ExplainFault explain() const {
    return [errors = errors_](const Fault& fault) { return errors.text(fault.value, fault.place); };
  }

 private:
  bool mean() const { return attrs_.reduction == "mean"; }

  CrossEntropyAttrs attrs_;
  std::size_t labels_;
  LabelErrors errors_;
  bool weighted_;
};

// Calls prepare.operator()<Label>() for the type of operand `labels`.
template <class Prepare>
std::unique_ptr<Kernel> of_labels(const KernelRequest& request, std::size_t labels,
                                  const Prepare& prepare) {
  return dispatch<Integers>(request.in[labels].dtype, prepare);
}

}  // namespace lockstep
