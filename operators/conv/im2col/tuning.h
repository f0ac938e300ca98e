// SPDX-License-Identifier: Apache-2.0
// Thresholds that select convolutions by columns and divide their work.
#pragma once

#include <cstdint>

namespace lockstep::im2col {

struct ColumnTuning {
  int64_t strip = 48 * 1024;      // floats of columns: half of a small L2 cache
  int64_t longest_row = 1 << 20;  // floats: a strip has at least one row of columns
  int64_t most_parts = 16;        // parts with separate sums; their number changes bits
  int64_t few_weights = 1 << 16;  // more sums would cost more than an idle thread
};
constexpr ColumnTuning kTuning;

}  // namespace lockstep::im2col
