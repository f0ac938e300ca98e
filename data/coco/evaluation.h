// SPDX-License-Identifier: Apache-2.0
// Scores boxes, masks and keypoints by COCO's average precision and recall, as pycocotools does.
#pragma once

#include <array>
#include <vector>

#include "data/coco/annotations.h"
#include "data/coco/results.h"
#include "data/coco/scores.h"

namespace lockstep {

// Scores detections on `threads` threads. The result does not depend on `threads`. Crowds are
// neither found nor missed. As in pycocotools, `ignore` of the file has no effect, and detections
// with equal scores keep their order, image by image by ascending id.
CocoScores evaluate_boxes(const Annotations& truth, const std::vector<Detection>& detections,
                          int threads = 1);

// Scores `masks`, one for each detection, by the overlap of masks. The area of a detection is its
// mask's, the area of an object the file's. An object without polygons and run lengths has an empty
// mask. Throws if a mask has another size than its picture, or if no object of the set has a mask.
CocoScores evaluate_masks(const Annotations& truth, const std::vector<Detection>& detections,
                          const std::vector<RunLengths>& masks, int threads = 1);

// Scores keypoints by their similarity to the object's (OKS), with a sigma for each point.
// `keypoints` has x, y and visibility of each point of a detection; detections without points are
// left out. The area of a detection is the extent of its points. Objects without marked points
// are neither found nor missed, so categories without points have no scores. Throws if the set's
// categories or a detection have another number of points than `sigmas`.
CocoScores evaluate_keypoints(const Annotations& truth, const std::vector<Detection>& detections,
                              const std::vector<std::vector<float>>& keypoints,
                              const std::vector<double>& sigmas, int threads = 1);

// The recall of class-agnostic proposals, as Detectron computes it: the fraction of objects, except
// crowds, that match a separate proposal, averaged over overlaps 0.5, 0.55, .. 0.95. Indexed by
// area: all, small, medium, large. -1: no object of this area. `by_class`: the mean over categories
// of the recall of each category's objects, which proposals for other objects do not disturb.
struct ProposalRecall {
  int limit = 0;  // proposals of each image, best first
  std::array<double, kCocoAreas> average{};
  std::array<double, kCocoAreas> at_half{};  // at an overlap of 0.5 alone
};
ProposalRecall evaluate_proposals(const Annotations& truth, const std::vector<Detection>& proposals,
                                  int limit, int threads = 1, bool by_class = false);

}  // namespace lockstep
