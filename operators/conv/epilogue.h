// SPDX-License-Identifier: Apache-2.0
// The work of a FusedConv besides the convolution.
#pragma once

#include <string>

#include "operators/conv/conv.h"

namespace lockstep {

// The work of a Conv or a FusedConv on its result, in this order.
struct ConvEpilogue {
  bool bias = false;
  bool addition = false;  // of z
  bool relu = false;
  bool statistics = false;  // sums of each channel's elements, and of their squares
};
ConvEpilogue read_epilogue(const KernelRequest& request);
// The enabled parts, ", bias, addition, ReLU".
std::string text_of(const ConvEpilogue& epilogue);

// Prefers the result's layout for z, if there is a z.
void lay_z_as_result(const KernelRequest& request, Layouts& layouts);
// Throws Unsupported if z has another layout than the result.
void check_z_lies_as_result(const KernelRequest& request);

}  // namespace lockstep
