// SPDX-License-Identifier: Apache-2.0
// Scores boxes by COCO's average precision and recall, as pycocotools does.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "data/coco/annotations.h"
#include "data/coco/areas.h"
#include "data/coco/results.h"

namespace lockstep {

// The numbers that COCO reports. A number is -1 if the data set has no object for the number.
struct CocoNumbers {
  double ap = -1, ap50 = -1, ap75 = -1;
  double ap_small = -1, ap_medium = -1, ap_large = -1;  // objects under 32^2, 96^2 pixels, others
  double ar1 = -1, ar10 = -1, ar100 = -1;  // with at most 1, 10, 100 detections an image
  double ar_small = -1, ar_medium = -1, ar_large = -1;  // with 100
};

class CocoScores {
 public:
  static constexpr std::size_t kOverlaps = 10;  // 0.5, 0.55, .. 0.95
  static constexpr std::size_t kRecalls = 101;  // 0, 0.01, .. 1
  static constexpr std::size_t kLimits = 3;     // 1, 10, 100 detections an image

  explicit CocoScores(std::size_t categories);

  std::size_t categories() const { return categories_; }
  CocoNumbers numbers() const;
  // Average precision over all overlaps, or at one overlap.
  double average_precision(std::size_t area, std::size_t category) const;
  double average_precision_at(std::size_t overlap, std::size_t category) const;
  // The precision at each recall, for all areas and 100 detections.
  std::vector<double> precision_curve(std::size_t overlap, std::size_t category) const;

  // pycocotools' arrays: [overlap, recall, category, area, limit] and [overlap, category, area,
  // limit]. -1: no object to count.
  std::vector<double> precision, recall;
  std::size_t precision_place(std::size_t overlap, std::size_t recall, std::size_t category,
                              std::size_t area, std::size_t limit) const {
    return (((overlap * kRecalls + recall) * categories_ + category) * kCocoAreas + area) *
               kLimits +
           limit;
  }
  std::size_t recall_place(std::size_t overlap, std::size_t category, std::size_t area,
                           std::size_t limit) const {
    return ((overlap * categories_ + category) * kCocoAreas + area) * kLimits + limit;
  }

 private:
  std::size_t categories_;
};

// Scores detections on `threads` threads. The result does not depend on `threads`. Crowds are
// neither found nor missed. As in pycocotools, `ignore` of the file has no effect, and detections
// with equal scores keep their order, image by image by ascending id.
CocoScores evaluate_boxes(const Annotations& truth, const std::vector<Detection>& detections,
                          int threads = 1);

// The recall of class-agnostic proposals, as Detectron computes it: the fraction of objects, except
// crowds, that match a separate proposal, averaged over overlaps 0.5, 0.55, .. 0.95. Indexed by
// area: all, small, medium, large. -1: no object of this area.
struct ProposalRecall {
  int limit = 0;  // proposals of each image, best first
  std::array<double, kCocoAreas> average{};
  std::array<double, kCocoAreas> at_half{};  // at an overlap of 0.5 alone
};
ProposalRecall evaluate_proposals(const Annotations& truth, const std::vector<Detection>& proposals,
                                  int limit, int threads = 1);

}  // namespace lockstep
