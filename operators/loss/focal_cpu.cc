// SPDX-License-Identifier: Apache-2.0
// Work is cut into chunks of an anchor's cells, with all their classes. The terms of a chunk are
// added cell by cell in the order of the classes, then over the cells; chunks are added in order.
// The sum has the same order for any number of threads. No buffer is as large as the logits.
#include <algorithm>
#include <cmath>

#include "operators/kit/dispatch.h"
#include "operators/kit/exponential.h"
#include "operators/loss/focal.h"
#include "operators/loss/labels.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

constexpr int64_t kCells = 256;  // of a chunk: its buffers and a row of logits fit the fast caches

// logits [anchors of all images, planes, cells], labels [anchors, cells].
struct FocalPlanes {
  int64_t anchors, planes, cells, chunks_of_anchor;

  FocalPlanes(const Dims& labels, const FocalAttrs& attrs, bool softmax)
      : anchors(labels[0] * labels[1]),
        planes(attrs.classes + (softmax ? 1 : 0)),
        cells(labels[2] * labels[3]),
        chunks_of_anchor((cells + kCells - 1) / kCells) {}

  int64_t chunks() const { return anchors * chunks_of_anchor; }
};

// Cells of one anchor.
struct FocalChunk {
  int64_t count;   // cells
  int64_t logits;  // offset of the first cell's first plane; the next plane follows at `stride`
  int64_t stride;
  int32_t label[kCells];

  template <class Label>
  FocalChunk(const FocalPlanes& of, int64_t number, const Label* labels) : stride(of.cells) {
    const int64_t anchor = number / of.chunks_of_anchor;
    const int64_t first = number % of.chunks_of_anchor * kCells;
    count = std::min(kCells, of.cells - first);
    logits = anchor * of.planes * of.cells + first;
    for (int64_t i = 0; i < count; ++i)
      label[i] = static_cast<int32_t>(labels[anchor * of.cells + first + i]);
  }
};

// Throws for an invalid label. Runs before a parallel loop, which no exception may leave.
template <class Label>
void check_focal_labels(const Label* labels, int64_t count, int64_t classes,
                        const LabelErrors& errors) {
  for (int64_t i = 0; i < count; ++i)
    if (labels[i] < -1 || labels[i] > classes) errors.raise(labels[i], i);
}

// -- a sigmoid for each class: f(s) = sigmoid(s)^gamma softplus(s), with s = -x for the label's
// class and s = x for any other class

template <bool kSquare>
struct FocalCurve {
  float sigmoid, counter;  // sigmoid(s), sigmoid(-s)
  float softplus, power;
  FocalCurve(float s, float gamma) {
    const float e = exp_of_minus(s < 0 ? -s : s), log = log_of_one_plus(e);
    const float inverse = 1 / (1 + e);
    sigmoid = (s < 0 ? e : 1) * inverse;
    counter = (s < 0 ? 1 : e) * inverse;
    softplus = (s < 0 ? 0 : s) + log;
    power = kSquare ? sigmoid * sigmoid : exp_of_minus(gamma * ((s < 0 ? -s : 0) + log));
  }
  float value() const { return power * softplus; }
  float slope(float gamma) const { return power * (gamma * counter * softplus + sigmoid); }
};

template <bool kSquare>
double sigmoid_focal_sum(const FocalChunk& chunk, const float* logits, const FocalAttrs& attrs) {
  float sums[kCells] = {};
  const float alpha = attrs.alpha, rest = 1 - attrs.alpha, gamma = attrs.gamma;
  for (int32_t d = 1; d <= attrs.classes; ++d) {
    const float* x = logits + chunk.logits + (d - 1) * chunk.stride;
    for (int64_t i = 0; i < chunk.count; ++i) {
      const bool own = chunk.label[i] == d;
      const FocalCurve<kSquare> curve(own ? -x[i] : x[i], gamma);
      const float term = (own ? alpha : rest) * curve.value();
      sums[i] += chunk.label[i] < 0 ? 0 : term;
    }
  }
  double total = 0;
  for (int64_t i = 0; i < chunk.count; ++i) total += sums[i];
  return total;
}

template <bool kSquare>
void sigmoid_focal_slopes(const FocalChunk& chunk, const float* logits, float* slopes, float factor,
                          const FocalAttrs& attrs) {
  const float own_factor = -factor * attrs.alpha, rest = factor * (1 - attrs.alpha);
  const float gamma = attrs.gamma;
  for (int32_t d = 1; d <= attrs.classes; ++d) {
    const float* x = logits + chunk.logits + (d - 1) * chunk.stride;
    float* dx = slopes + chunk.logits + (d - 1) * chunk.stride;
    for (int64_t i = 0; i < chunk.count; ++i) {
      const bool own = chunk.label[i] == d;
      const FocalCurve<kSquare> curve(own ? -x[i] : x[i], gamma);
      const float slope = (own ? own_factor : rest) * curve.slope(gamma);
      dx[i] = chunk.label[i] < 0 ? 0 : slope;
    }
  }
}

// -- a softmax over background and classes

// The largest logit of each cell, and exp(x - top) of the label's plane and summed over the other
// planes.
struct FocalSoftmax {
  float top[kCells], own[kCells], others[kCells];

  FocalSoftmax(const FocalChunk& chunk, const float* logits, int64_t planes) {
    const float* x = logits + chunk.logits;
    std::copy_n(x, chunk.count, top);
    for (int64_t c = 1; c < planes; ++c)
      for (int64_t i = 0; i < chunk.count; ++i)
        top[i] = top[i] < x[c * chunk.stride + i] ? x[c * chunk.stride + i] : top[i];
    std::fill_n(own, chunk.count, 0.0F);
    std::fill_n(others, chunk.count, 0.0F);
    for (int32_t c = 0; c < planes; ++c)
      for (int64_t i = 0; i < chunk.count; ++i) {
        const float e = exp_of_minus(top[i] - x[c * chunk.stride + i]);
        own[i] += chunk.label[i] == c ? e : 0;
        others[i] += chunk.label[i] == c ? 0 : e;
      }
  }
};

// The probability of one cell that is not ignored. 1 - p is computed from the other planes: a
// subtraction would lose digits for p near 1.
struct FocalProbability {
  double log;      // log(p)
  double missing;  // 1 - p
  FocalProbability(const FocalChunk& chunk, const FocalSoftmax& softmax, const float* logits,
                   int64_t i) {
    const double total = double(softmax.own[i]) + softmax.others[i];
    const float x = logits[chunk.logits + chunk.label[i] * chunk.stride + i];
    log = double(x) - softmax.top[i] - std::log(total);
    missing = softmax.others[i] / total;
  }
};

double softmax_focal_sum(const FocalChunk& chunk, const float* logits, const FocalAttrs& attrs) {
  const FocalSoftmax softmax(chunk, logits, attrs.classes + 1);
  double total = 0;
  for (int64_t i = 0; i < chunk.count; ++i) {
    if (chunk.label[i] < 0) continue;
    const FocalProbability p(chunk, softmax, logits, i);
    const double z = chunk.label[i] == 0 ? 1 - attrs.alpha : attrs.alpha;
    total -= z * std::pow(p.missing, attrs.gamma) * p.log;
  }
  return total;
}

// dloss / dx_c = z (gamma (1 - p)^(gamma - 1) p log(p) - (1 - p)^gamma) (onehot_c - softmax_c)
void softmax_focal_slopes(const FocalChunk& chunk, const float* logits, float* slopes, float factor,
                          const FocalAttrs& attrs) {
  const FocalSoftmax softmax(chunk, logits, attrs.classes + 1);
  float common[kCells], missing[kCells], inverse[kCells];
  for (int64_t i = 0; i < chunk.count; ++i) {
    common[i] = missing[i] = inverse[i] = 0;
    if (chunk.label[i] < 0) continue;
    const FocalProbability p(chunk, softmax, logits, i);
    const double z = chunk.label[i] == 0 ? 1 - attrs.alpha : attrs.alpha;
    const double gamma = attrs.gamma;
    // If p is 1, every plane's slope is 0; the power may be infinite.
    const double slope = p.missing == 0
                             ? 0
                             : gamma * std::pow(p.missing, gamma - 1) * std::exp(p.log) * p.log -
                                   std::pow(p.missing, gamma);
    common[i] = static_cast<float>(factor * z * slope);
    missing[i] = static_cast<float>(p.missing);
    inverse[i] = static_cast<float>(1 / (double(softmax.own[i]) + softmax.others[i]));
  }
  for (int32_t c = 0; c <= attrs.classes; ++c) {
    const float* x = logits + chunk.logits + c * chunk.stride;
    float* dx = slopes + chunk.logits + c * chunk.stride;
    for (int64_t i = 0; i < chunk.count; ++i) {
      const float share = exp_of_minus(softmax.top[i] - x[i]) * inverse[i];
      const float slope = common[i] * (chunk.label[i] == c ? missing[i] : -share);
      dx[i] = chunk.label[i] < 0 ? 0 : slope;
    }
  }
}

// -- kernels

float divisor_of(const float* objects) { return *objects > 1 ? *objects : 1; }

template <class Label, class Sum>
std::unique_ptr<Kernel> focal_kernel(const KernelRequest& request, bool softmax, Sum sum) {
  const FocalAttrs attrs = read_focal(request.attributes());
  const FocalPlanes planes(request.in[1].dims, attrs, softmax);
  const LabelErrors errors(request, 1, attrs.classes + 1);
  auto run = [=, threads = request.threads](const KernelArgs& args) {
    const float* logits = args.in[0].as<float>();
    const Label* labels = args.in[1].as<Label>();
    check_focal_labels(labels, planes.anchors * planes.cells, attrs.classes, errors);
    auto* sums = reinterpret_cast<double*>(args.workspace);
    parallel_for(planes.chunks(), 1, threads, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c)
        sums[c] = sum(FocalChunk(planes, c, labels), logits, attrs);
    });
    double total = 0;
    for (int64_t c = 0; c < planes.chunks(); ++c) total += sums[c];
    *args.out[0].as<float>() = static_cast<float>(total / divisor_of(args.in[2].as<float>()));
  };
  return make_kernel(run, "", planes.chunks() * sizeof(double));
}

template <class Label, class Slopes>
std::unique_ptr<Kernel> focal_grad_kernel(const KernelRequest& request, bool softmax,
                                          Slopes slopes) {
  const FocalAttrs attrs = read_focal(request.attributes());
  const FocalPlanes planes(request.in[2].dims, attrs, softmax);
  const LabelErrors errors(request, 2, attrs.classes + 1);
  return make_kernel([=, threads = request.threads](const KernelArgs& args) {
    const Label* labels = args.in[2].as<Label>();
    check_focal_labels(labels, planes.anchors * planes.cells, attrs.classes, errors);
    const float factor = *args.in[0].as<float>() / divisor_of(args.in[3].as<float>());
    parallel_for(planes.chunks(), 1, threads, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c)
        slopes(FocalChunk(planes, c, labels), args.in[1].as<float>(), args.out[0].as<float>(),
               factor, attrs);
    });
  });
}

template <bool kSoftmax>
std::unique_ptr<Kernel> prepare_focal(const KernelRequest& request) {
  const bool square = read_focal(request.attributes()).gamma == 2;
  return dispatch<Integers>(request.in[1].dtype, [&]<class Label>() {
    return focal_kernel<Label>(request, kSoftmax,
                               kSoftmax ? softmax_focal_sum
                               : square ? sigmoid_focal_sum<true>
                                        : sigmoid_focal_sum<false>);
  });
}

template <bool kSoftmax>
std::unique_ptr<Kernel> prepare_focal_grad(const KernelRequest& request) {
  const bool square = read_focal(request.attributes()).gamma == 2;
  return dispatch<Integers>(request.in[2].dtype, [&]<class Label>() {
    return focal_grad_kernel<Label>(request, kSoftmax,
                                    kSoftmax ? softmax_focal_slopes
                                    : square ? sigmoid_focal_slopes<true>
                                             : sigmoid_focal_slopes<false>);
  });
}

}  // namespace

std::vector<KernelEntry> focal_cpu() {
  const Refusal losses = every({takes<Float32>(), takes<Integers>(1)});
  const Refusal gradients = every({takes<Float32>(), takes<Float32>(1), takes<Integers>(2)});
  return {{"SigmoidFocalLoss", kOwnDomain, {{"CPU", losses, prepare_focal<false>}}},
          {"SoftmaxFocalLoss", kOwnDomain, {{"CPU", losses, prepare_focal<true>}}},
          {"SigmoidFocalLossGrad", kOwnDomain, {{"CPU", gradients, prepare_focal_grad<false>}}},
          {"SoftmaxFocalLossGrad", kOwnDomain, {{"CPU", gradients, prepare_focal_grad<true>}}}};
}

}  // namespace lockstep
