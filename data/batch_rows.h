// SPDX-License-Identifier: Apache-2.0
// The rows of a batch that one process reads.
#pragma once

#include <cstdint>

#include "lockstep/error.h"

namespace lockstep {

// The number of rows from `first` on; a `count` of -1 goes to the end of the batch. Throws for an
// empty batch, and for rows beyond it. `rows` names them in errors: "images".
inline int64_t rows_in_batch(int64_t batch, int64_t first, int64_t count, const char* rows) {
  check(batch > 0, "the batch has ", batch, " ", rows, ", should have at least 1");
  if (count < 0) count = batch - first;
  check(first >= 0 && count > 0 && first + count <= batch, rows, " ", first, " to ", first + count,
        " are not within a batch of ", batch);
  return count;
}

}  // namespace lockstep
