// SPDX-License-Identifier: Apache-2.0
// One example's step through a cell, forward and backward, except for the matrix products.
#pragma once

#include <vector>

#include "operators/rnn/activations.h"

namespace lockstep {

// A direction's cell. Functions work on vectors of `hidden` numbers; `sums` has such a vector for
// each gate. A result may alias the operand with the same meaning.
struct CellMath {
  int64_t hidden;
  bool input_forget;
  std::vector<RecurrentActivation> f_g_h;

  // -- forward
  void rnn(const float* sums, float* h) const;
  // Adds the peepholes' terms (null: none) to the sums.
  void lstm(const float* peepholes, float* sums, const float* c_before, float* c, float* h) const;
  // The part before the product with R if r is applied before the product: scaled = r * h_before.
  void gru_reset(const float* sums, const float* h_before, float* scaled) const;
  // `product` is the product that r scales with linear_before_reset, else null.
  void gru(const float* product, float* sums, const float* h_before, float* h) const;

  // -- backward. dh is the gradient of the result; each function fills dsums.
  void rnn_back(const float* sums, const float* dh, float* dsums) const;
  // dc is the gradient of c on entry, of c_before on return.
  void lstm_back(const float* peepholes, const float* sums, const float* c_before, const float* c,
                 const float* dh, float* dc, float* dsums) const;
  // The gradients of the sums of z and h, and the part of h_before's gradient that needs no
  // product. With linear_before_reset also the gradients of r's sums and dproduct.
  void gru_back(const float* product, const float* sums, const float* h_before, const float* dh,
                float* dh_before, float* dproduct, float* dsums) const;
  // Without linear_before_reset: the gradient of r's sums, from dscaled, the gradient of r *
  // h_before.
  void gru_reset_back(const float* sums, const float* h_before, const float* dscaled,
                      float* dh_before, float* dsums) const;
};

}  // namespace lockstep
