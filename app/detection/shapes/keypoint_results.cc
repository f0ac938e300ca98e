// SPDX-License-Identifier: Apache-2.0
#include "app/detection/shapes/keypoint_results.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "graph/listed.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr double kSimilar = 0.3;

double mean_of_points(const FoundBox& box, float FoundPoint::*number) {
  double sum = 0;
  for (const FoundPoint& point : box.points) sum += static_cast<double>(point.*number);
  return sum / static_cast<double>(box.points.size());
}

// The similarity of another box's points, in proportion to the size of `box`.
double similarity_to(const FoundBox& box, const FoundBox& other,
                     const std::vector<double>& sigmas) {
  const CocoBox at = coco_box_of(box.corners);
  const double area = at[2] * at[3] + std::numeric_limits<double>::epsilon();
  double sum = 0;
  for (std::size_t k = 0; k < sigmas.size(); ++k) {
    const FoundPoint &a = box.points[k], &b = other.points[k];
    const double dx = static_cast<double>(b.x - a.x), dy = static_cast<double>(b.y - a.y);
    const double variance = (sigmas[k] * 2) * (sigmas[k] * 2);
    sum += std::exp(-((dx * dx + dy * dy) / variance / area / 2));
  }
  return sum / static_cast<double>(sigmas.size());
}

}  // namespace

const std::vector<KeypointConfidence>& keypoint_confidences() {
  static const std::vector<KeypointConfidence> rows{
      {"bbox", nullptr}, {"logit", &FoundPoint::logit}, {"prob", &FoundPoint::probability}};
  return rows;
}

std::vector<Detection> detections_of_points(const std::vector<FoundBoxes>& pictures,
                                            const std::string& confidence) {
  const KeypointConfidence* const source = row_named(keypoint_confidences(), confidence);
  check(source != nullptr, "no source of scores is called '", confidence, "'");
  std::vector<Detection> detections = detections_of(pictures);
  if (!source->number) return detections;
  std::size_t place = 0;
  for (const FoundBoxes& boxes : pictures)
    for (const FoundBox& box : boxes) {
      if (!box.points.empty()) detections[place].score = mean_of_points(box, source->number);
      ++place;
    }
  return detections;
}

void suppress_similar(FoundBoxes& boxes, const std::vector<double>& sigmas) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (boxes[i].points.empty()) continue;
    check(boxes[i].points.size() == sigmas.size(), "KRCNN.NMS_OKS: a box has ",
          boxes[i].points.size(), " points, but there are ", sigmas.size(), " sigmas");
    order.push_back(i);
  }
  std::vector<double> logits(boxes.size());
  for (const std::size_t i : order) logits[i] = mean_of_points(boxes[i], &FoundPoint::logit);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
  std::vector<bool> dropped(boxes.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const FoundBox& better = boxes[order[i]];
    if (dropped[order[i]]) continue;
    for (const std::size_t other : std::span(order).subspan(i + 1))
      if (boxes[other].kind == better.kind &&
          similarity_to(better, boxes[other], sigmas) > kSimilar)
        dropped[other] = true;
  }
  FoundBoxes kept;
  for (std::size_t i = 0; i < boxes.size(); ++i)
    if (!dropped[i]) kept.push_back(std::move(boxes[i]));
  boxes = std::move(kept);
}

}  // namespace lockstep
