// SPDX-License-Identifier: Apache-2.0
// Discrete Fourier transforms in standard operators. Short transforms are products with constant
// tables of cosines and sines; longer ones are composed of short ones. The tables are computed in
// double precision.
#pragma once

#include "graph/opset/newer_node.h"

namespace lockstep {

class Fourier {
 public:
  // Adds its nodes for `node`. `inverse`: positive exponents, divided by the length.
  Fourier(NewerNode& node, DType type) : node_(node), type_(type) {}

  struct Sizes {
    int64_t given = 0;   // samples of x; the others up to `length` are zeros
    int64_t length = 0;  // of the transform
    int64_t made = 0;    // the first results
    int64_t parts = 1;   // 1: real samples; 2: real and imaginary parts
  };
  // x [rows, given, parts] -> [rows, made, 2]
  Value transform(Value x, const Sizes& sizes, bool inverse);

 private:
  // Transforms planes: x [rows, parts, length] -> [rows, 2, made].
  Value planes(Value x, int64_t length, int64_t parts, int64_t made, bool inverse);
  // length = p q: transforms of length p, then of length q.
  Value composed(Value x, int64_t p, int64_t q, int64_t parts, bool inverse);
  // A transform of any length as a convolution by longer transforms (Bluestein).
  Value convolved(Value x, int64_t length, int64_t parts, int64_t made, bool inverse);
  // Multiplies planes along `axis` by complex constants of shape `dims`, in which the axis has size
  // 1.
  Value times(Value x, int64_t axis, const Dims& dims, const std::vector<double>& real,
              const std::vector<double>& imaginary);

  Value table(const std::vector<double>& values, const Dims& dims);
  Value transposed(Value x, const std::vector<int64_t>& order);
  Value padded(Value x, int64_t axis, int64_t count);  // x has three dimensions

  NewerNode& node_;
  DType type_;
};

}  // namespace lockstep
