// SPDX-License-Identifier: Apache-2.0
// The order in which training reads the rows of a text.
#pragma once

#include <cstdint>
#include <vector>

#include "data/epoch_order.h"
#include "lockstep/text.h"

namespace lockstep {

// A pass through the text visits its rows in a random order. Rows are one row's length apart and
// begin at a random offset. Both are a function of (seed, row number) alone.
class TextOrder {
 public:
  // Rows of `length` characters and their successor, each within one of the ranges. Throws if all
  // ranges are shorter.
  TextOrder(const std::vector<TextRange>& ranges, int64_t length, uint64_t seed);
  // The first character of a row; `number` counts rows from the start of training. Thread-safe.
  int64_t start(int64_t number) const;

  int64_t starts() const { return starts_; }  // positions where a row may begin
  int64_t rows_of_pass() const { return slots_; }

 private:
  std::vector<TextRange> ranges_;  // of positions where a row may begin
  int64_t length_, starts_ = 0, slots_;
  uint64_t seed_;
  EpochOrder order_;
};

}  // namespace lockstep
