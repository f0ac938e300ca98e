// SPDX-License-Identifier: Apache-2.0
// Masks as lengths of runs, as COCO stores them: the pixels column by column, from the top of a
// column to its bottom. The first run is empty pixels and may be 0 long; no other run of a result
// is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep {

// Writes the runs of a mask from its first pixel to its last.
struct RunWriter {
  std::vector<uint32_t> runs = {0};

  void add(bool set, uint32_t pixels);
};

// The pixels that are set in one of the masks, which all have the same number of pixels. Throws
// without a mask. A single mask is returned as it is.
std::vector<uint32_t> joined_runs(std::span<const std::vector<uint32_t>> masks);

// The pixels that are set in all masks; otherwise as joined_runs.
std::vector<uint32_t> common_runs(std::span<const std::vector<uint32_t>> masks);

// The pixels of a mask that are not set in the other.
std::vector<uint32_t> cleared_runs(std::span<const uint32_t> mask, std::span<const uint32_t> other);

// One byte per pixel, row by row: 1 if the pixel is set, otherwise 0.
std::vector<uint8_t> bitmap_of_runs(std::span<const uint32_t> runs, int64_t height, int64_t width);

// The inverse. Each byte other than 0 is a pixel that is set.
std::vector<uint32_t> runs_of_bitmap(std::span<const uint8_t> bitmap, int64_t height,
                                     int64_t width);

}  // namespace lockstep
