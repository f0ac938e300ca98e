// SPDX-License-Identifier: Apache-2.0
// Episodes of any length as sequences of one length, padded at their ends, for recurrent networks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lockstep/attributes.h"
#include "lockstep/tensor.h"

namespace lockstep {

struct Chopped {
  int64_t length = 1;  // T: rows of a padded sequence
  int64_t rows = 0;    // of all episodes, before padding
  // Of each sequence: its first row, whose state begins it, and its number of rows before padding.
  std::vector<int64_t> firsts{}, lengths{};

  int64_t sequences() const { return static_cast<int64_t>(firsts.size()); }
};

// `ends`: the row after the last one of each episode, in ascending order. The last episode may be
// unfinished: then its end, `rows`, may be left out. Sequences never span two episodes.
Chopped chop(int64_t rows, std::span<const int64_t> ends, int64_t length);

// [rows, ..] of the episodes as [sequences * length, ..], with zeros after the rows of a sequence.
Literal padded_rows(const Chopped& chopped, const Tensor& rows);
// The states before each row, [rows, ..], as those before each sequence.
Literal first_states(const Chopped& chopped, const Tensor& states);

}  // namespace lockstep
