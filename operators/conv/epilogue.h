// SPDX-License-Identifier: Apache-2.0
// What a FusedConv does besides convolving.
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
// ", bias, addition, ReLU": what there is of it.
std::string text_of(const ConvEpilogue& epilogue);

// Wishes z, if there is one, in the result's layout.
void lay_z_as_result(const KernelRequest& request, Layouts& layouts);
// Throws Unsupported if z lies otherwise.
void check_z_lies_as_result(const KernelRequest& request);

}  // namespace lockstep
