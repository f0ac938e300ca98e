// SPDX-License-Identifier: Apache-2.0
#include "runtime/masks/runs.h"

#include <algorithm>

#include "lockstep/error.h"

namespace lockstep {
namespace {

// Walks through the runs of a mask, skipping the empty ones.
struct RunWalk {
  std::span<const uint32_t> runs;
  std::size_t next = 0;
  uint32_t left = 0;  // pixels left of run next - 1

  bool pixels_left() {
    while (left == 0 && next < runs.size()) left = runs[next++];
    return left > 0;
  }
  bool set() const { return next % 2 == 0; }
};

template <class Rule>
std::vector<uint32_t> combined(std::span<const uint32_t> left, std::span<const uint32_t> right,
                               const Rule& rule) {
  RunWalk a{left}, b{right};
  RunWriter result;
  for (;;) {
    const bool more = a.pixels_left();
    check(b.pixels_left() == more, "masks of different numbers of pixels");
    if (!more) return std::move(result.runs);
    const uint32_t pixels = std::min(a.left, b.left);
    result.add(rule(a.set(), b.set()), pixels);
    a.left -= pixels;
    b.left -= pixels;
  }
}

template <class Rule>
std::vector<uint32_t> all_combined(std::span<const std::vector<uint32_t>> masks, const Rule& rule) {
  check(!masks.empty(), "no masks to combine");
  std::vector<uint32_t> result = masks[0];
  for (const std::vector<uint32_t>& mask : masks.subspan(1)) result = combined(result, mask, rule);
  return result;
}

}  // namespace

void RunWriter::add(bool set, uint32_t pixels) {
  if (pixels == 0) return;
  if (set == (runs.size() % 2 == 0))
    runs.back() += pixels;
  else
    runs.push_back(pixels);
}

std::vector<uint32_t> joined_runs(std::span<const std::vector<uint32_t>> masks) {
  return all_combined(masks, [](bool a, bool b) { return a || b; });
}

std::vector<uint32_t> common_runs(std::span<const std::vector<uint32_t>> masks) {
  return all_combined(masks, [](bool a, bool b) { return a && b; });
}

std::vector<uint32_t> cleared_runs(std::span<const uint32_t> mask,
                                   std::span<const uint32_t> other) {
  return combined(mask, other, [](bool a, bool b) { return a && !b; });
}

std::vector<uint8_t> bitmap_of_runs(std::span<const uint32_t> runs, int64_t height, int64_t width) {
  std::vector<uint8_t> bitmap(height * width);
  int64_t at = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const int64_t end = at + runs[i];
    check(end <= height * width, "runs of more than ", height, " x ", width, " pixels");
    if (i % 2 == 1)
      for (int64_t row = at % height, column = at / height; at < end; ++at) {
        bitmap[row * width + column] = 1;
        if (++row == height) row = 0, ++column;
      }
    at = end;
  }
  check(at == height * width, "runs add up to ", at, " pixels, the mask of ", height, " x ", width,
        " has ", height * width);
  return bitmap;
}

std::vector<uint32_t> runs_of_bitmap(std::span<const uint8_t> bitmap, int64_t height,
                                     int64_t width) {
  check(static_cast<int64_t>(bitmap.size()) == height * width, "a bitmap of ", bitmap.size(),
        " bytes, but a mask of ", height, " x ", width);
  check(height * width <= UINT32_MAX, "a mask of ", height, " x ", width,
        " pixels is too large for runs");
  std::vector<uint32_t> runs;
  uint32_t run = 0;
  bool set = false;
  for (int64_t column = 0; column < width; ++column)
    for (int64_t row = 0; row < height; ++row, ++run)
      if ((bitmap[row * width + column] != 0) != set) {
        runs.push_back(run);
        run = 0;
        set = !set;
      }
  runs.push_back(run);
  return runs;
}

}  // namespace lockstep
