// SPDX-License-Identifier: Apache-2.0
#include "data/coco/rle.h"

#include <cstdint>

#include "graph/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr int kBits = 5;     // bits per character; a sixth bit is 1 if more characters follow
constexpr int kFirst = '0';  // the character for 0
constexpr int kMost = 13;    // maximum number of characters of a 64-bit number

}  // namespace

// From the fourth run on, a number is the difference from the run two before.
std::vector<uint32_t> decode_run_lengths(std::string_view text) {
  std::vector<uint32_t> counts;
  for (std::size_t i = 0; i < text.size();) {
    uint64_t bits = 0;
    int characters = 0;
    bool more = true, negative = false;
    for (; more; ++i, ++characters) {
      check(i < text.size(), "run ", counts.size(), " is cut off");
      check(characters < kMost, "run ", counts.size(), " is longer than any number");
      const int value = text[i] - kFirst;
      check(value >= 0 && value < 64, "run ", counts.size(), " has the character '",
            printable(text.substr(i, 1)), "'");
      if (kBits * characters < 64)
        bits |= static_cast<uint64_t>(value & 31) << (kBits * characters);
      more = value & 32;
      negative = value & 16;
    }
    if (negative && kBits * characters < 64) bits |= ~uint64_t{0} << (kBits * characters);
    const int64_t before = counts.size() > 2 ? counts[counts.size() - 2] : 0;
    int64_t run = 0;
    const bool overflows = __builtin_add_overflow(static_cast<int64_t>(bits), before, &run);
    check(!overflows && run >= 0 && run <= UINT32_MAX, "run ", counts.size(), " is ", run,
          " pixels");
    counts.push_back(static_cast<uint32_t>(run));
  }
  return counts;
}

std::string encode_run_lengths(const std::vector<uint32_t>& counts) {
  std::string text;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    int64_t rest = int64_t{counts[i]} - (i > 2 ? int64_t{counts[i - 2]} : 0);
    for (bool more = true; more;) {
      const int64_t bits = rest & 31;
      rest >>= kBits;
      more = bits & 16 ? rest != -1 : rest != 0;
      text.push_back(static_cast<char>(kFirst + bits + (more ? 32 : 0)));
    }
  }
  return text;
}

void check_run_lengths(const RunLengths& runs) {
  int64_t sum = 0;
  for (uint32_t count : runs.counts) sum += count;
  check(sum == runs.height * runs.width, "runs add up to ", sum, " pixels, the mask of ",
        runs.height, " x ", runs.width, " has ", runs.height * runs.width);
}

int64_t area_of(const RunLengths& runs) {
  int64_t area = 0;
  for (std::size_t i = 1; i < runs.counts.size(); i += 2) area += runs.counts[i];
  return area;
}

}  // namespace lockstep
