// SPDX-License-Identifier: Apache-2.0
// The lengths of the examples of a ragged array X, from the array X.lengths. In X the examples
// follow each other, or each one is padded to the same length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/arrays/stored_array.h"

namespace lockstep {

inline constexpr std::string_view kLengthsSuffix = ".lengths", kMaskSuffix = ".mask";

class RaggedLengths {
 public:
  // Throws, naming file and row, for lengths that are no integers or negative.
  explicit RaggedLengths(const StoredArray& lengths);

  int64_t examples() const { return static_cast<int64_t>(starts_.size()) - 1; }
  int64_t length(int64_t example) const { return starts_[example + 1] - starts_[example]; }
  // The first row of an example, if examples follow each other.
  int64_t start(int64_t example) const { return starts_[example]; }
  int64_t sum() const { return starts_.back(); }
  int64_t longest() const { return longest_; }
  int64_t longest_example() const { return longest_example_; }

 private:
  std::vector<int64_t> starts_;
  int64_t longest_ = 0, longest_example_ = 0;
};

// True if the examples of the array follow each other, false if each is padded. Throws, naming both
// files, if the array has another number of rows than the lengths say.
bool are_joined(const StoredArray& array, const StoredArray& stored_lengths,
                const RaggedLengths& lengths);

}  // namespace lockstep
