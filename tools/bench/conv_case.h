// SPDX-License-Identifier: Apache-2.0
// One convolution of images, its operands, and the exact results of its passes.
#pragma once

#include <string>
#include <vector>

#include "lockstep/attributes.h"
#include "operators/conv/conv2d.h"
#include "operators/conv/pass.h"

namespace lockstep {

struct ConvCase {
  Conv2d conv;
  int64_t group = 1;
  ConvPass pass = ConvPass::forward;
  DType type = DType::float32;

  Dims x() const { return {conv.images, conv.inputs, conv.down.image, conv.across.image}; }
  Dims w() const {
    return {conv.outputs, conv.inputs / group, conv.down.window, conv.across.window};
  }
  Dims y() const { return {conv.images, conv.outputs, conv.down.result, conv.across.result}; }
};

// "16x512x7x7,512,3" or "16x512x7x7,512,3x5": images x channels x height x width of the input, the
// result's channels, the window. Padding is half a window unless given, the same on all sides.
struct ConvShapeOptions {
  std::string shape = "16x64x56x56,64,3";
  int64_t step = 1, hole = 1, pad = -1, group = 1;
};
// Throws for a text of another form, and for windows that do not fit.
ConvCase conv_case(const ConvShapeOptions& options);

// Operands of the case, drawn in float32 and rounded to its type.
struct ConvOperands {
  std::vector<float> x, w, dy;  // the result's gradient
};
ConvOperands draw_operands(const ConvCase& of);

// The relative error of a result against sums in float64: the root of the mean squared error, over
// some hundred elements spread over the result.
double error_of(const ConvCase& of, const ConvOperands& operands, const float* result);

}  // namespace lockstep
