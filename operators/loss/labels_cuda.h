// Losses of labels: what each counts, and what becomes of the terms. For this room's GPU kernels.
#pragma once

#include <algorithm>

#include "operators/axis.h"
#include "operators/elements_cuda.h"
#include "operators/loss/loss.h"

namespace lockstep {

struct Columns {
  int64_t size, inner;
  explicit Columns(const AroundAxis& a) : size(a.size), inner(a.inner) {}
  __device__ int64_t start(int64_t column) const {
    return column / inner * size * inner + column % inner;
  }
};

// What a label weighs: nothing where it is ignored, and where it is no class, of which a fault
// tells.
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
  __device__ void raise_if_no_class(int64_t column, Fault* fault) const {
    if (!is_class(column) && !is_ignored(column)) raise(fault, labels[column]);
  }
  __device__ bool counts(int64_t column) const { return of(column) != 0; }
};

template <class Label>
Weights<Label> weights_of(const CrossEntropyAttrs& attrs, int64_t classes, const Tensor& labels,
                          const float* weights) {
  return {labels.as<const Label>(), weights, classes, attrs.ignores, attrs.ignore_index};
}

// The terms' sum, divided by the weights' where the loss is a mean.
template <class Label>
struct TotalLoss {
  Weights<Label> weights;
  int64_t count;
  bool mean;
  const double* terms;
  float* loss;
  __device__ void operator()(int64_t) const {
    double total = 0, weight = 0;
    for (int64_t c = threadIdx.x; c < count; c += kFoldThreads) {
      total += terms[c];
      weight += weights.of(c);
    }
    total = fold_block(total, Add());
    weight = fold_block(weight, Add());
    if (threadIdx.x == 0) *loss = static_cast<float>(mean ? total / weight : total);
  }
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
    if (threadIdx.x == 0) *total = mean ? weight : 1;
  }
};

// The loss of terms that are one for each label.
template <class Label>
void settle_loss(const KernelArgs& args, const CrossEntropyAttrs& attrs,
                 const Weights<Label>& weights, int64_t count, const double* terms, float* loss) {
  if (attrs.reduction == "none")
    for_elements(args, count, EachLoss{terms, loss});
  else
    for_blocks(args, 1, TotalLoss<Label>{weights, count, attrs.reduction == "mean", terms, loss});
}

// What a loss was divided by.
template <class Label>
void settle_divisor(const KernelArgs& args, const CrossEntropyAttrs& attrs,
                    const Weights<Label>& weights, int64_t count, double* divisor) {
  for_blocks(args, 1, TotalWeight<Label>{weights, count, attrs.reduction == "mean", divisor});
}

inline std::size_t bytes_of_terms(const AroundAxis& scores) {
  return static_cast<std::size_t>(std::max<int64_t>(scores.columns(), 1)) * sizeof(double);
}

inline ExplainFault no_class_of(const AroundAxis& scores) {
  return [classes = scores.size](int64_t label) { return label_outside(label, classes); };
}

}  // namespace lockstep
