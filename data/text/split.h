// SPDX-License-Identifier: Apache-2.0
// What of a text is trained on, and what is held out.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep {

struct TextRange {
  int64_t first = 0, end = 0;
  int64_t size() const { return end - first; }
  friend bool operator==(const TextRange&, const TextRange&) = default;
};

struct TextSplit {
  std::vector<TextRange> training, held_out;
};

// Every tenth block of 1,000 characters is held out. The training ranges lie between them.
TextSplit split_text(int64_t size);
// All of it is one range: for training where other files are held out.
TextSplit train_on_all(int64_t size);

int64_t characters_of(const std::vector<TextRange>& ranges);

}  // namespace lockstep
