// SPDX-License-Identifier: Apache-2.0
#include "data/coco/mask_overlap.h"

#include <algorithm>

#include "data/coco/overlap.h"
#include "data/coco/rle.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

// The number of pixels in both masks.
int64_t common_pixels(const RunLengths& a, const RunLengths& b) {
  int64_t common = 0, a_end = 0, b_end = 0, at = 0;
  std::size_t i = 0, j = 0;  // the runs after the current ones
  for (;;) {
    while (a_end <= at && i < a.counts.size()) a_end += a.counts[i++];
    while (b_end <= at && j < b.counts.size()) b_end += b.counts[j++];
    const int64_t end = std::min(a_end, b_end);
    if (end <= at) return common;
    if (i % 2 == 0 && j % 2 == 0) common += end - at;
    at = end;
  }
}

std::vector<CocoBox> boxes_of(std::span<const RunLengths> masks) {
  std::vector<CocoBox> boxes;
  for (const RunLengths& mask : masks) boxes.push_back(box_of(mask));
  return boxes;
}

}  // namespace

CocoBox box_of(const RunLengths& mask) {
  const int64_t height = mask.height;
  int64_t left = mask.width, top = height, right = -1, bottom = -1;  // inclusive
  for (int64_t i = 0, at = 0; uint32_t count : mask.counts) {
    const int64_t last = at + count - 1;
    if (i++ % 2 == 1 && count > 0) {
      const bool wraps = at / height < last / height;  // to the top of the next column
      left = std::min(left, at / height);
      right = last / height;
      top = std::min(top, wraps ? 0 : at % height);
      bottom = std::max(bottom, wraps ? height - 1 : last % height);
    }
    at += count;
  }
  if (right < 0) return {};
  const auto number = [](int64_t value) { return static_cast<double>(value); };
  return {number(left), number(top), number(right - left + 1), number(bottom - top + 1)};
}

double overlap(const RunLengths& detection, const CocoBox& detection_box, const RunLengths& object,
               const CocoBox& object_box, bool crowd) {
  check(detection.height == object.height && detection.width == object.width, "a mask of ",
        detection.height, " x ", detection.width, " cannot overlap a mask of ", object.height,
        " x ", object.width);
  if (intersection(detection_box, object_box) == 0) return 0;
  const int64_t both = common_pixels(detection, object);
  if (both == 0) return 0;
  const int64_t detected = area_of(detection);
  return static_cast<double>(both) /
         static_cast<double>(crowd ? detected : detected + area_of(object) - both);
}

std::vector<double> overlaps(std::span<const RunLengths> detections,
                             std::span<const RunLengths> objects, const std::vector<bool>& crowd) {
  check(crowd.size() == objects.size(), objects.size(), " objects, but ", crowd.size(),
        " marks of crowds");
  const std::vector<CocoBox> found = boxes_of(detections), known = boxes_of(objects);
  std::vector<double> result;
  for (std::size_t d = 0; d < detections.size(); ++d)
    for (std::size_t o = 0; o < objects.size(); ++o)
      result.push_back(overlap(detections[d], found[d], objects[o], known[o], crowd[o]));
  return result;
}

}  // namespace lockstep
