// SPDX-License-Identifier: Apache-2.0
// The forward step of each cell on the GPU, except for matrix products: a thread per unit.
#pragma once

#include "operators/rnn/step_cuda.h"

namespace lockstep {

// The sums of a row before any product: both biases. A bias that r scales is added later.
struct BiasesOfSums {
  int64_t sums, both;  // the length of a row, and the number of leading sums with two biases
  const float* b;
  float* to;
  __device__ void operator()(int64_t i) const {
    const int64_t k = i % sums;
    to[i] = k < both ? b[k] + b[sums + k] : b[k];
  }
};

struct RnnStep {
  Sequences all;
  int64_t t;
  CellCurves curves;
  const float* sums;
  float *h, *y;
  __device__ void operator()(int64_t i) const {
    const StepUnit unit(all, t, i);
    if (!unit.padding) h[i] = curves.f(sums[unit.in_sums]).value;
    if (y) y[all.sizes.y_at(t, all.d, unit.n) + unit.k] = unit.padding ? 0 : h[i];
  }
};

// Adds the peepholes' terms to the sums.
struct LstmStep {
  Sequences all;
  int64_t t;
  CellCurves curves;
  const float* peepholes;
  float *sums, *h, *c, *y, *cells;
  __device__ void operator()(int64_t i) const {
    const StepUnit unit(all, t, i);
    if (!unit.padding) move(unit, i);
    if (y) y[all.sizes.y_at(t, all.d, unit.n) + unit.k] = unit.padding ? 0 : h[i];
    if (cells) cells[unit.in_rows] = unit.padding ? 0 : c[i];
  }
  __device__ void move(const StepUnit& unit, int64_t i) const {
    const int64_t H = all.sizes.hidden;
    float *si = sums + unit.in_sums, *so = si + H, *sf = so + H, *sg = sf + H;
    const float* p = peepholes ? peepholes + unit.k : nullptr;
    const float before = c[i];
    if (p) {
      *si += p[0] * before;
      *sf += p[2 * H] * before;
    }
    const float in = curves.f(*si).value;
    const float kept = curves.input_forget ? 1 - in : curves.f(*sf).value;
    const float now = kept * before + in * curves.g(*sg).value;
    if (p) *so += p[H] * now;
    c[i] = now;
    h[i] = curves.f(*so).value * curves.h(now).value;
  }
};

// The vector that r scales before R multiplies it, or R's product that r scales. It is stored in
// kept rows or in states.
struct GruProduct {
  float* at;
  bool of_rows;
  __device__ float& of(const StepUnit& unit, int64_t i) const {
    return at[of_rows ? unit.in_rows : i];
  }
};

// The part before the product with R if r is applied before the product.
struct GruResetStep {
  Sequences all;
  int64_t t;
  CellCurves curves;
  const float *sums, *h;
  GruProduct product;
  __device__ void operator()(int64_t i) const {
    const StepUnit unit(all, t, i);
    const float r = curves.f(sums[unit.in_sums + all.sizes.hidden]).value;
    product.of(unit, i) = unit.padding ? 0 : r * h[i];
  }
};

struct GruStep {
  Sequences all;
  int64_t t;
  CellCurves curves;
  bool scales_product;
  const float* bias;  // of the product, or null
  GruProduct product;
  float *sums, *h, *y;
  __device__ void operator()(int64_t i) const {
    const StepUnit unit(all, t, i);
    if (scales_product && bias) product.of(unit, i) += bias[unit.k];
    if (!unit.padding) move(unit, i);
    if (y) y[all.sizes.y_at(t, all.d, unit.n) + unit.k] = unit.padding ? 0 : h[i];
  }
  __device__ void move(const StepUnit& unit, int64_t i) const {
    const int64_t H = all.sizes.hidden;
    float *sz = sums + unit.in_sums, *sr = sz + H, *sg = sr + H;
    if (scales_product) *sg += curves.f(*sr).value * product.of(unit, i);
    const float z = curves.f(*sz).value;
    h[i] = (1 - z) * curves.g(*sg).value + z * h[i];
  }
};

}  // namespace lockstep
