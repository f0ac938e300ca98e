// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear and DequantizeLinear: floats as 8-bit integers, with a scale and a zero point for
// the whole tensor or for each slice along an axis.
#pragma once

#include <vector>

#include "lockstep/graph.h"
#include "lockstep/kernel.h"
#include "lockstep/op.h"
#include "operators/kit/dispatch.h"

namespace lockstep {

using QuantizedBytes = Types<int8_t, uint8_t>;
// DequantizeLinear also reads sums of products.
using QuantizedPlaces = Types<int8_t, uint8_t, int32_t>;

// The elements of a tensor by scale: element i has scale number(i).
struct Scales {
  int64_t count = 1;    // the number of scales
  int64_t stretch = 1;  // neighbouring elements with one scale

  // `count`, unless it is 1, must be the size of the node's axis.
  static Scales of(const KernelRequest& request);
  constexpr int64_t number(int64_t i) const { return i / stretch % count; }
};

std::vector<Op> quantize_ops();
std::vector<KernelEntry> quantize_cpu();
std::vector<KernelEntry> quantize_cuda();

}  // namespace lockstep
