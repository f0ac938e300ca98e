// SPDX-License-Identifier: Apache-2.0
// Parts shared by the GPU kernels of recurrent operators: activations, and offsets of a step's
// numbers.
#pragma once

#include "operators/gemm/product_cuda.h"
#include "operators/kit/elements_cuda.h"
#include "operators/rnn/activations.h"
#include "operators/rnn/recurrence.h"
#include "operators/rnn/sizes.h"

namespace lockstep {

// An activation's value for a sum, and its slope there.
struct CurvePoint {
  float value, slope;
};
template <class Formula>
__device__ CurvePoint curve_of(const RecurrentActivation& f, float x) {
  const bool clipped = x < -f.clip || x > f.clip;  // NaN stays NaN
  const float z = !clipped ? x : x < 0 ? -f.clip : f.clip;
  return {Formula::value(z, f.a, f.b), clipped ? 0 : Formula::slope(z, f.a, f.b)};
}
__device__ inline CurvePoint curve(const RecurrentActivation& f, float x) {
  switch (f.kind) {
    case ActivationKind::affine:
      return curve_of<activation::Affine>(f, x);
    case ActivationKind::elu:
      return curve_of<Elu>(f, x);
    case ActivationKind::hard_sigmoid:
      return curve_of<HardSigmoid>(f, x);
    case ActivationKind::leaky_relu:
      return curve_of<LeakyRelu>(f, x);
    case ActivationKind::relu:
      return curve_of<activation::Relu>(f, x);
    case ActivationKind::scaled_tanh:
      return curve_of<activation::ScaledTanh>(f, x);
    case ActivationKind::sigmoid:
      return curve_of<activation::Sigmoid>(f, x);
    case ActivationKind::softplus:
      return curve_of<Softplus>(f, x);
    case ActivationKind::softsign:
      return curve_of<Softsign>(f, x);
    case ActivationKind::tanh:
      return curve_of<activation::Tanh>(f, x);
    case ActivationKind::thresholded_relu:
      return curve_of<ThresholdedRelu>(f, x);
  }
  return {0, 0};
}

// A direction's activations.
struct CellCurves {
  RecurrentActivation f_g_h[3];
  bool input_forget;
  __device__ CurvePoint f(float x) const { return curve(f_g_h[0], x); }
  __device__ CurvePoint g(float x) const { return curve(f_g_h[1], x); }
  __device__ CurvePoint h(float x) const { return curve(f_g_h[2], x); }
};

// A direction and its sequences. A wrong length is clamped to the nearest valid length; a fault
// reports it to the host.
struct Sequences {
  RecurrentSizes sizes;
  RecurrentOrder order;
  int64_t d;
  const int32_t* lengths;  // null: all steps

  __device__ int64_t length(int64_t n) const {
    if (!lengths || lengths[n] > sizes.steps) return sizes.steps;
    return lengths[n] < 0 ? 0 : lengths[n];
  }
  __device__ void raise_if_wrong(int64_t n, Fault* fault) const {
    if (lengths && (lengths[n] < 0 || lengths[n] > sizes.steps))
      raise(fault, n * (int64_t{1} << 32) + static_cast<uint32_t>(lengths[n]));
  }
  static ExplainFault explain(int64_t steps) {
    return [steps](const Fault& fault) {
      return length_outside(fault.value >> 32, static_cast<int32_t>(fault.value & 0xFFFFFFFF),
                            steps);
    };
  }
};

// Unit k of example n in a step. Its offset is n * hidden + k in buffers of states, [batch,
// hidden], `in_rows` in buffers of rows, and `in_sums` in the sums, for the first gate.
struct StepUnit {
  int64_t n, k, row, in_rows, in_sums;
  bool padding;
  __device__ StepUnit(const Sequences& all, int64_t t, int64_t i)
      : n(i / all.sizes.hidden),
        k(i % all.sizes.hidden),
        row(all.sizes.row(t, n)),
        in_rows(row * all.sizes.hidden + k),
        in_sums(row * all.sizes.sums() + k),
        padding(t >= all.length(n)) {}
};

// Sets the states at the start of a direction: the given states, or zeros.
struct BeginStates {
  Sequences all;
  Fault* fault;
  const float *given_h, *given_c;
  float *h, *c;  // c may be null
  __device__ void operator()(int64_t i) const {
    const int64_t n = i / all.sizes.hidden, k = i % all.sizes.hidden;
    const int64_t from = all.sizes.state_at(all.d, n) + k;
    if (k == 0) all.raise_if_wrong(n, fault);
    h[i] = given_h ? given_h[from] : 0;
    if (c) c[i] = given_c ? given_c[from] : 0;
  }
};

// Writes the states to the wanted results.
struct EndStates {
  Sequences all;
  const float *h, *c;
  float *to_h, *to_c;
  __device__ void operator()(int64_t i) const {
    const int64_t n = i / all.sizes.hidden, k = i % all.sizes.hidden;
    const int64_t to = all.sizes.state_at(all.d, n) + k;
    if (to_h) to_h[to] = h[i];
    if (to_c) to_c[to] = c[i];
  }
};

// A recurrent node on the GPU.
struct RecurrentCudaNode {
  RecurrentAttrs attrs;
  RecurrentSizes sizes;
  std::vector<CellCurves> curves;  // of each direction

  explicit RecurrentCudaNode(const KernelRequest& request)
      : attrs(read_recurrent(cell_of(request.node.type()), request.attributes())),
        sizes(cell_of(request.node.type()), attrs, request) {
    const auto all = recurrent_activations(sizes.cell, attrs);
    const std::size_t each = activations_of(sizes.cell);
    for (std::size_t first = 0; first < all.size(); first += each) {
      CellCurves of{{}, attrs.input_forget};
      std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(first), each, of.f_g_h);
      curves.push_back(of);
    }
  }
  // GRU: true if r scales the product with R.
  bool scales_product() const { return attrs.linear_before_reset; }
  int64_t states() const { return sizes.batch * sizes.hidden; }

  Sequences sequences(const KernelArgs& args, int64_t d) const {
    return {
        sizes, {attrs.reversed(d), sizes.steps}, d, operand<int32_t>(args, RecurrentIn::lengths)};
  }
  // Operands of a step or a gate begin at multiples of `hidden`.
  std::shared_ptr<CublasProduct> product(const KernelRequest& request, MatrixProduct of) const {
    of.alignment = sizes.hidden % 4 == 0 && sizes.inputs % 4 == 0 ? 16 : sizeof(float);
    return chosen_product(request, of);
  }
};

std::unique_ptr<Kernel> prepare_recurrent_grad_cuda(const KernelRequest& request);

}  // namespace lockstep
