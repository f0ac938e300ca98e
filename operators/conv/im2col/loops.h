// SPDX-License-Identifier: Apache-2.0
// The loops of a convolution by matrix products, written once (loops_of.h) and compiled for each
// kind of processor. They read and write row-major planes with any number of channels.
//
//   columns  [channels x window][pixels of the result, padded with 0 to vectors]
//
// A column has the input's values in one window, which make one pixel of the result (im2col). All
// loops process a strip of the result's rows, so that its columns stay in the cache.
#pragma once

#include <cstdint>

#include "operators/conv/conv2d.h"

namespace lockstep::im2col {

struct Strip {
  int64_t first, rows;
  int64_t stride;  // floats between the pixels of consecutive values: whole vectors
};

// y[m][pixel] = sum over v of a[m * of_row + v * of_value] * columns[v][pixel]. Then bias, z and
// ReLU are applied in this order.
struct Product {
  const float* a;
  int64_t of_row, of_value;
  int64_t rows, values;
  const float* bias;  // one number per row; null: none
  const float* z;     // added; has y's row stride; null: none
  bool relu;          // NaN stays NaN
};

// The gradients of a strip. Outputs are `stride` floats apart; an output's pixels are adjacent.
struct StripGradients {
  const float* dy;
  int64_t stride;
  int64_t outputs, pixels;
  float* turned;  // buffer for [pixels][outputs, padded to vectors]
};

class Im2colLoops {
 public:
  virtual int lanes() const = 0;
  virtual const char* name() const = 0;

  virtual void columns(const float* x, const Conv2d& conv, const Strip& strip, float* to) const = 0;
  // The transpose of columns(): adds the values that belong to the same pixel of the input.
  virtual void add_columns(const float* from, const Conv2d& conv, const Strip& strip,
                           float* dx) const = 0;
  // Computes `pixels` pixels of each row; y's rows are `y_stride` floats apart.
  virtual void multiply(const Product& product, const float* columns, int64_t stride,
                        int64_t pixels, float* y, int64_t y_stride) const = 0;
  // sums[v][output] = the sum over pixels of columns[v][pixel] * gradient[output][pixel], added to
  // the existing sums unless `first`. Rows of sums are padded to vectors with arbitrary values.
  virtual void add_products(const float* columns, int64_t stride, const StripGradients& gradients,
                            int64_t values, bool first, float* sums) const = 0;
  // dw[output][v] for values [begin, end): the sum of `parts` arrays [values][outputs, padded].
  virtual void sum(const float* from, int64_t parts, int64_t values, int64_t outputs, float* dw,
                   int64_t begin, int64_t end) const = 0;

 protected:
  ~Im2colLoops() = default;
};

// This processor's loops; null if it has neither AVX2 nor AVX-512.
const Im2colLoops* loops_here();

const Im2colLoops& avx2_loops();
const Im2colLoops& avx512_loops();

}  // namespace lockstep::im2col
