// SPDX-License-Identifier: Apache-2.0
#include "data/coco/masks.h"

#include <algorithm>

#include "lockstep/error.h"
#include "runtime/masks/polygon_runs.h"

namespace lockstep {
namespace {

std::vector<std::vector<uint32_t>> counts_of_one_size(std::span<const RunLengths> masks) {
  check(!masks.empty(), "there are no masks to combine");
  std::vector<std::vector<uint32_t>> counts;
  for (const RunLengths& mask : masks) {
    check(mask.height == masks[0].height && mask.width == masks[0].width, "a mask of ",
          masks[0].height, " x ", masks[0].width, " and a mask of ", mask.height, " x ", mask.width,
          " cannot be combined");
    counts.push_back(mask.counts);
  }
  return counts;
}

}  // namespace

RunLengths mask_of(std::span<const double> polygon, int64_t height, int64_t width) {
  return {height, width, polygon_runs(polygon, height, width)};
}

RunLengths mask_of(const Annotations& table, const CocoObject& object) {
  if (object.mask >= 0) return table.masks[object.mask];
  const CocoImage& image = table.images[object.image];
  std::vector<std::vector<uint32_t>> parts;
  for (uint32_t i = 0; i < object.polygons.count; ++i) {
    const PoolPart part = table.polygons[object.polygons.first + i];
    const std::span<const double> polygon(&table.coordinates[part.first], part.count);
    parts.push_back(polygon_runs(polygon, image.height, image.width));
  }
  if (parts.empty()) parts.push_back(polygon_runs({}, image.height, image.width));
  return {image.height, image.width, joined_runs(parts)};
}

std::vector<uint8_t> bitmap_of(const RunLengths& mask) {
  return bitmap_of_runs(mask.counts, mask.height, mask.width);
}

RunLengths mask_of_bitmap(std::span<const uint8_t> bitmap, int64_t height, int64_t width) {
  return {height, width, runs_of_bitmap(bitmap, height, width)};
}

RunLengths joined(std::span<const RunLengths> masks) {
  const std::vector<std::vector<uint32_t>> counts = counts_of_one_size(masks);
  return {masks[0].height, masks[0].width, joined_runs(counts)};
}

RunLengths common(std::span<const RunLengths> masks) {
  const std::vector<std::vector<uint32_t>> counts = counts_of_one_size(masks);
  return {masks[0].height, masks[0].width, common_runs(counts)};
}

// Writes the columns from the last to the first, each as the parts of the runs inside the column.
RunLengths mirrored(const RunLengths& mask) {
  std::vector<int64_t> ends;  // of the runs
  for (int64_t at = 0; uint32_t count : mask.counts) ends.push_back(at += count);
  RunWriter result;
  for (int64_t column = mask.width; column-- > 0;) {
    int64_t at = column * mask.height;
    const int64_t end = at + mask.height;
    for (auto run = std::upper_bound(ends.begin(), ends.end(), at); at < end; ++run) {
      const int64_t stop = std::min(*run, end);
      result.add((run - ends.begin()) % 2 == 1, static_cast<uint32_t>(stop - at));
      at = stop;
    }
  }
  return {mask.height, mask.width, std::move(result.runs)};
}

}  // namespace lockstep
