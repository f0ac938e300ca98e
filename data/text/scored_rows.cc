// SPDX-License-Identifier: Apache-2.0
#include "lockstep/text.h"

#include <algorithm>

#include "lockstep/error.h"

namespace lockstep {

std::vector<ScoredRow> scored_rows(const std::vector<TextRange>& ranges, int64_t length) {
  check(length > 0, "rows of ", length, " characters; a row should have at least 1");
  std::vector<ScoredRow> rows;
  for (const TextRange& range : ranges) {
    // `next` is the next character to predict.
    for (int64_t next = std::max<int64_t>(range.first, 1); next < range.end;) {
      const int64_t before = std::min(next, std::max<int64_t>(length / 2, 1));
      const int64_t count = std::min(length - before + 1, range.end - next);
      rows.push_back({next - before, before - 1, before - 1 + count});
      next += count;
    }
  }
  return rows;
}

}  // namespace lockstep
