// SPDX-License-Identifier: Apache-2.0
// COCO's scores: pycocotools' arrays of precision and recall, and the numbers that COCO reports.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "data/coco/areas.h"

namespace lockstep {

// A number is -1 if the data set has no object for it, or if COCO does not report it for this kind
// of shape. Keypoints have no small objects and another limit of detections.
struct CocoNumbers {
  double ap = -1, ap50 = -1, ap75 = -1;
  double ap_small = -1, ap_medium = -1, ap_large = -1;  // objects under 32^2, 96^2 pixels, others
  double ar1 = -1, ar10 = -1, ar100 = -1;  // with at most 1, 10, 100 detections an image
  double ar_small = -1, ar_medium = -1, ar_large = -1;  // with the most detections
  double ar20 = -1, ar50 = -1, ar75 = -1;               // of keypoints, with at most 20
};

// A number as the mean of the precision or the recall over overlaps and categories.
struct CocoNumberRule {
  const char* name;
  double CocoNumbers::*number;
  bool of_recall;
  std::size_t first_overlap, last_overlap;
  std::size_t area, limit;  // indices in CocoRules
};

struct CocoRules {
  std::span<const AreaRange> areas;         // all areas first
  std::span<const std::size_t> limits;      // of detections an image, in ascending order
  std::span<const CocoNumberRule> numbers;  // in COCO's order
};

const CocoRules& coco_box_rules();       // of boxes and masks: 12 numbers
const CocoRules& coco_keypoint_rules();  // 10 numbers

class CocoScores {
 public:
  static constexpr std::size_t kOverlaps = 10;  // 0.5, 0.55, .. 0.95
  static constexpr std::size_t kRecalls = 101;  // 0, 0.01, .. 1

  explicit CocoScores(std::size_t categories, const CocoRules& rules = coco_box_rules());

  const CocoRules& rules() const { return *rules_; }
  std::size_t categories() const { return categories_; }
  CocoNumbers numbers() const;
  // The numbers that COCO reports, with their names in CocoNumbers, in COCO's order.
  std::vector<std::pair<const char*, double>> named_numbers() const;
  // Average precision over all overlaps, or at one overlap.
  double average_precision(std::size_t area, std::size_t category) const;
  double average_precision_at(std::size_t overlap, std::size_t category) const;
  // Average recall of the most detections over all overlaps.
  double average_recall(std::size_t area, std::size_t category) const;
  // The precision at each recall, for all areas and the most detections.
  std::vector<double> precision_curve(std::size_t overlap, std::size_t category) const;

  // pycocotools' arrays: [overlap, recall, category, area, limit] and [overlap, category, area,
  // limit]. -1: no object to count.
  std::vector<double> precision, recall;
  std::size_t precision_place(std::size_t overlap, std::size_t recall, std::size_t category,
                              std::size_t area, std::size_t limit) const {
    return recall_place(overlap * kRecalls + recall, category, area, limit);
  }
  std::size_t recall_place(std::size_t overlap, std::size_t category, std::size_t area,
                           std::size_t limit) const {
    return ((overlap * categories_ + category) * rules_->areas.size() + area) *
               rules_->limits.size() +
           limit;
  }

 private:
  std::size_t most_detections() const { return rules_->limits.size() - 1; }

  const CocoRules* rules_;
  std::size_t categories_;
};

}  // namespace lockstep
