// SPDX-License-Identifier: Apache-2.0
// One example's step through a cell, forward and backward: all that is not a matrix product.
#pragma once

#include <vector>

#include "operators/rnn/activations.h"

namespace lockstep {

// A direction's cell. Functions work on vectors of `hidden` numbers; sums has one of them for each
// gate. Results may lie where operands of the same meaning do.
struct CellMath {
  int64_t hidden;
  bool input_forget;
  std::vector<RecurrentActivation> f_g_h;

  // -- forward
  void rnn(const float* sums, float* h) const;
  // Adds the peepholes' terms (null: none) to the sums.
  void lstm(const float* peepholes, float* sums, const float* c_before, float* c, float* h) const;
  // The part before the product with R that r is in front of: scaled = r * h_before.
  void gru_reset(const float* sums, const float* h_before, float* scaled) const;
  // product: that which r scales with linear_before_reset, else null.
  void gru(const float* product, float* sums, const float* h_before, float* h) const;

  // -- backward. dh: of the result; each fills dsums.
  void rnn_back(const float* sums, const float* dh, float* dsums) const;
  // dc: of c at first, of c_before in the end.
  void lstm_back(const float* peepholes, const float* sums, const float* c_before, const float* c,
                 const float* dh, float* dc, float* dsums) const;
  // Sums of z and h, and what reaches h_before without a product. With linear_before_reset r's sums
  // and dproduct, too.
  void gru_back(const float* product, const float* sums, const float* h_before, const float* dh,
                float* dh_before, float* dproduct, float* dsums) const;
  // Otherwise the sums of r, once dscaled, the gradient of r * h_before, is known.
  void gru_reset_back(const float* sums, const float* h_before, const float* dscaled,
                      float* dh_before, float* dsums) const;
};

}  // namespace lockstep
