// SPDX-License-Identifier: Apache-2.0
// Held-out text in rows of one length, so that each character is predicted once from enough of what
// stands before it.
#pragma once

#include <cstdint>
#include <vector>

#include "data/text/split.h"

namespace lockstep {

// Reads the characters first, first + 1, .., and predicts after each the next one. Predictions
// from number `from` up to `end` count; those before only read what stands before.
struct ScoredRow {
  int64_t first = 0, from = 0, end = 0;
  friend bool operator==(const ScoredRow&, const ScoredRow&) = default;
};

// The characters of the ranges, but the text's first, which has nothing before it. A row reads at
// most `length` characters, the first half of them without being scored where there are as many.
std::vector<ScoredRow> scored_rows(const std::vector<TextRange>& ranges, int64_t length);

}  // namespace lockstep
