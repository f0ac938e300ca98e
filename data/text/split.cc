// SPDX-License-Identifier: Apache-2.0
#include "lockstep/text.h"

#include <algorithm>

namespace lockstep {
namespace {

constexpr int64_t kBlock = 1000, kEvery = 10;

}  // namespace

TextSplit split_text(int64_t size) {
  TextSplit split;
  for (int64_t first = 0; first < size; first += kBlock * kEvery) {
    const int64_t held_out = first + kBlock * (kEvery - 1);
    split.training.push_back({first, std::min(held_out, size)});
    if (held_out < size) split.held_out.push_back({held_out, std::min(held_out + kBlock, size)});
  }
  return split;
}

TextSplit train_on_all(int64_t size) { return {{{0, size}}, {}}; }

int64_t characters_of(const std::vector<TextRange>& ranges) {
  int64_t sum = 0;
  for (const TextRange& range : ranges) sum += range.size();
  return sum;
}

}  // namespace lockstep
