// SPDX-License-Identifier: Apache-2.0
// Thresholds that divide the work of gradients of 1x1 filters. The number of parts changes bits.
#pragma once

#include <cstdint>

namespace lockstep::pointwise {

struct PointwiseTuning {
  int64_t pixels = 800;  // of a chunk, at most
  int64_t panel = 2;     // blocks
  int64_t most_parts = 16, chunks_of_part = 8;
  int64_t most_sums = 1 << 20;  // of all parts
};
constexpr PointwiseTuning kTuning;

}  // namespace lockstep::pointwise
