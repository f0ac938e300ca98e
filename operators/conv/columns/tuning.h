// SPDX-License-Identifier: Apache-2.0
// The numbers that choose convolutions by columns and divide their work.
#pragma once

#include <cstdint>

namespace lockstep::columns {

struct ColumnTuning {
  int64_t strip = 48 * 1024;      // floats of columns, for half of a small L2 cache
  int64_t longest_row = 1 << 20;  // floats: a strip has a row of columns at least
  int64_t most_parts = 16;        // with sums of their own; these decide bits
  int64_t few_weights = 1 << 16;  // sums of more cost more than a thread that has nothing to do
};
constexpr ColumnTuning kTuning;

}  // namespace lockstep::columns
