// SPDX-License-Identifier: Apache-2.0
// The backward step of each cell on the GPU, except for matrix products: a thread per unit. Padding
// has sums with gradient 0 and leaves the gradients of states unchanged.
#pragma once

#include "operators/rnn/step_cuda.h"

namespace lockstep {

// The states before each step: of y, and of an LSTM's cells.
struct StatesBefore {
  Sequences all;
  const float *y, *cells, *first_h, *first_c;
  // The state of unit k of example n before step t, which is not padding.
  __device__ float h(int64_t t, int64_t n, int64_t k) const {
    if (!all.order.is_first(t, all.length(n)))
      return y[all.sizes.y_at(all.order.before(t), all.d, n) + k];
    return first_h ? first_h[all.sizes.state_at(all.d, n) + k] : 0;
  }
  __device__ float c(int64_t t, int64_t n, int64_t k) const {
    if (!all.order.is_first(t, all.length(n)))
      return cells[all.sizes.row(all.order.before(t), n) * all.sizes.hidden + k];
    return first_c ? first_c[all.sizes.state_at(all.d, n) + k] : 0;
  }
};

// The step and the example of a row.
struct RowPlace {
  int64_t t, n;
  __device__ RowPlace(const RecurrentSizes& sizes, int64_t row)
      : t(sizes.batch_first ? row % sizes.steps : row / sizes.batch),
        n(sizes.batch_first ? row / sizes.steps : row % sizes.batch) {}
};

// Gathers all states before steps, [rows, hidden], with zeros in padding.
struct GatherBefore {
  StatesBefore states;
  float* to;
  __device__ void operator()(int64_t i) const {
    const RecurrentSizes& sizes = states.all.sizes;
    const RowPlace at(sizes, i / sizes.hidden);
    to[i] = at.t < states.all.length(at.n) ? states.h(at.t, at.n, i % sizes.hidden) : 0;
  }
};

// The gradients in a step. dh is the gradient of the step's result, at first without dy's part. The
// step changes it to the gradient of the previous state, to which products add more.
struct BackBuffers {
  const float *sums, *dy;
  float *dh, *dsums;
  __device__ float of_h(const Sequences& all, int64_t t, const StepUnit& unit, int64_t i) const {
    return dh[i] + (dy ? dy[all.sizes.y_at(t, all.d, unit.n) + unit.k] : 0);
  }
};

struct RnnBack {
  Sequences all;
  int64_t t;
  CellCurves curves;
  BackBuffers at;
  __device__ void operator()(int64_t i) const {
    const StepUnit unit(all, t, i);
    float& dsum = at.dsums[unit.in_sums];
    dsum = 0;
    if (unit.padding) return;
    dsum = curves.f(at.sums[unit.in_sums]).slope * at.of_h(all, t, unit, i);
    at.dh[i] = 0;  // the whole gradient flows through the sums
  }
};

struct LstmBack {
  Sequences all;
  int64_t t;
  CellCurves curves;
  BackBuffers at;
  StatesBefore states;
  const float* peepholes;
  float* dc;
  __device__ void operator()(int64_t i) const {
    const StepUnit unit(all, t, i);
    const int64_t H = all.sizes.hidden;
    float *di = at.dsums + unit.in_sums, *d_o = di + H, *df = d_o + H, *dg = df + H;
    if (unit.padding) {
      *di = *d_o = *df = *dg = 0;
      return;
    }
    const float* si = at.sums + unit.in_sums;
    const float* p = peepholes ? peepholes + unit.k : nullptr;
    const float before = states.c(t, unit.n, unit.k), dh = at.of_h(all, t, unit, i);
    const CurvePoint in = curves.f(si[0]), out = curves.f(si[H]), forget = curves.f(si[2 * H]),
                     g = curves.g(si[3 * H]), of_c = curves.h(states.cells[unit.in_rows]);
    *d_o = dh * of_c.value * out.slope;
    float dc_now = dc[i] + dh * out.value * of_c.slope;
    if (p) dc_now += *d_o * p[H];
    *df = curves.input_forget ? 0 : dc_now * before * forget.slope;
    *di = dc_now * (g.value - (curves.input_forget ? before : 0)) * in.slope;
    *dg = dc_now * in.value * g.slope;
    dc[i] = dc_now * (curves.input_forget ? 1 - in.value : forget.value) +
            (p ? *di * p[0] + *df * p[2 * H] : 0);
    at.dh[i] = 0;  // the whole gradient flows through the sums
  }
};

// Computes the gradients of the sums of z and h. With linear_before_reset also the gradients of r's
// sums and of R's product.
struct GruBack {
  Sequences all;
  int64_t t;
  CellCurves curves;
  BackBuffers at;
  const float *before, *product;  // of rows; the product is null unless r scales it
  float* dproduct;
  __device__ void operator()(int64_t i) const {
    const StepUnit unit(all, t, i);
    const int64_t H = all.sizes.hidden;
    float *dz = at.dsums + unit.in_sums, *dr = dz + H, *dg = dr + H;
    if (unit.padding) {
      *dz = *dr = *dg = 0;
      if (product) dproduct[unit.in_rows] = 0;
      return;
    }
    const float* sz = at.sums + unit.in_sums;
    const float dh = at.of_h(all, t, unit, i);
    const CurvePoint z = curves.f(sz[0]), g = curves.g(sz[2 * H]);
    *dz = dh * (before[unit.in_rows] - g.value) * z.slope;
    *dg = dh * (1 - z.value) * g.slope;
    at.dh[i] = dh * z.value;
    if (!product) return;
    const CurvePoint r = curves.f(sz[H]);
    *dr = *dg * product[unit.in_rows] * r.slope;
    dproduct[unit.in_rows] = *dg * r.value;
  }
};

// Computes the gradient of r's sums from the gradient of r * the previous state. Used without
// linear_before_reset.
struct GruResetBack {
  Sequences all;
  int64_t t;
  CellCurves curves;
  BackBuffers at;
  const float *before, *dscaled;
  __device__ void operator()(int64_t i) const {
    const StepUnit unit(all, t, i);
    if (unit.padding) return;
    const int64_t of_r = unit.in_sums + all.sizes.hidden;
    const CurvePoint r = curves.f(at.sums[of_r]);
    at.dsums[of_r] = dscaled[i] * before[unit.in_rows] * r.slope;
    at.dh[i] += dscaled[i] * r.value;
  }
};

}  // namespace lockstep
