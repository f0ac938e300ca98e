// SPDX-License-Identifier: Apache-2.0
#include "data/coco/overlaps.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/coco/mask_overlap.h"
#include "data/coco/masks.h"
#include "data/coco/overlap.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

// Calls `overlap(detection, object)` with places.
template <class Overlap>
std::vector<double> matrix_of(Places detections, Places objects, const Overlap& overlap) {
  std::vector<double> matrix;
  matrix.reserve(detections.size() * objects.size());
  for (const std::size_t detection : detections)
    for (const std::size_t object : objects) matrix.push_back(overlap(detection, object));
  return matrix;
}

// A distance of a number to a range.
double beyond(double number, double least, double most) {
  return std::max(0.0, least - number) + std::max(0.0, number - most);
}

// COCO's similarity: the mean over the object's marked points of a bell curve of the distance,
// which is as wide as the point's sigma and the object's size say. Without a marked point, all
// points are compared with the object's box, widened to three times its size.
double similarity(const std::vector<float>& found, std::span<const double> points,
                  const CocoObject& object, const std::vector<double>& sigmas) {
  bool marked = false;
  for (std::size_t i = 2; i < points.size(); i += 3) marked = marked || points[i] > 0;
  const auto& [left, top, width, height] = object.bbox;
  double sum = 0;
  std::size_t counted = 0;
  for (std::size_t i = 0; i < sigmas.size(); ++i) {
    if (marked && !(points[3 * i + 2] > 0)) continue;
    const double x = found[3 * i], y = found[3 * i + 1];
    const double dx = marked ? x - points[3 * i] : beyond(x, left - width, left + width * 2);
    const double dy = marked ? y - points[3 * i + 1] : beyond(y, top - height, top + height * 2);
    const double variance = (sigmas[i] * 2) * (sigmas[i] * 2);
    const double area = object.area + std::numeric_limits<double>::epsilon();
    sum += std::exp(-((dx * dx + dy * dy) / variance / area / 2));
    ++counted;
  }
  return counted == 0 ? 0 : sum / static_cast<double>(counted);
}

}  // namespace

OverlapMatrix box_overlaps(const Annotations& truth, const std::vector<Detection>& found) {
  return [&truth, &found](Places detections, Places objects) {
    return matrix_of(detections, objects, [&](std::size_t detection, std::size_t object) {
      const CocoObject& with = truth.objects[object];
      return overlap(found[detection].bbox, with.bbox, with.crowd);
    });
  };
}

// Draws each object once.
OverlapMatrix mask_overlaps(const Annotations& truth, const std::vector<RunLengths>& masks) {
  return [&truth, &masks](Places detections, Places objects) {
    std::vector<double> matrix(detections.size() * objects.size());
    if (matrix.empty()) return matrix;
    std::vector<CocoBox> boxes;
    for (const std::size_t detection : detections) boxes.push_back(box_of(masks[detection]));
    for (std::size_t o = 0; o < objects.size(); ++o) {
      const CocoObject& object = truth.objects[objects[o]];
      const RunLengths drawn = mask_of(truth, object);
      const CocoBox box = box_of(drawn);
      for (std::size_t d = 0; d < detections.size(); ++d)
        matrix[d * objects.size() + o] =
            overlap(masks[detections[d]], boxes[d], drawn, box, object.crowd);
    }
    return matrix;
  };
}

OverlapMatrix keypoint_overlaps(const Annotations& truth,
                                const std::vector<std::vector<float>>& keypoints,
                                const std::vector<double>& sigmas) {
  return [&truth, &keypoints, &sigmas](Places detections, Places objects) {
    return matrix_of(detections, objects, [&](std::size_t detection, std::size_t object) {
      const CocoObject& with = truth.objects[object];
      return similarity(
          keypoints[detection],
          std::span(truth.keypoints).subspan(with.keypoints.first, with.keypoints.count), with,
          sigmas);
    });
  };
}

void check_masks(const Annotations& truth, const std::vector<Detection>& found,
                 const std::vector<RunLengths>& masks) {
  check(masks.size() == found.size(), masks.size(), " masks for ", found.size(), " detections");
  for (std::size_t i = 0; i < masks.size(); ++i) {
    const CocoImage& image = truth.images[found[i].image];
    check(masks[i].height == image.height && masks[i].width == image.width,
          "the mask of detection ", i, " is ", masks[i].height, " x ", masks[i].width,
          ", but image ", image.id, " is ", image.height, " high and ", image.width, " wide");
  }
}

}  // namespace lockstep
