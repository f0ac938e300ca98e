// SPDX-License-Identifier: Apache-2.0
// The result of a detector's test as numbers, as a line, and as a part of report.html.
#pragma once

#include "app/detection/results/box_test.h"
#include "app/train/testing.h"
#include "data/detection/picture_set.h"

namespace lockstep {

// The score that decides which network is the best: box AP, or the recall of 100 proposals.
ScoreKind score_of_detectors(bool proposals_only);

// "box AP 0.512", and a line with the other numbers.
struct HeldOutLine {
  std::string headline, detail;
};
HeldOutLine line_of(const BoxTestResult& result);

HeldOutTest reported(const BoxTestResult& result, const PictureSet& pictures, int64_t iterations);

// COCO's numbers by their names in metrics.jsonl: ap, ap50, .. of boxes, mask_ap, .. of masks,
// keypoint_ap, .. of keypoints. Numbers without a value are missing.
NamedNumbers numbers_of(const BoxTestResult& result);

}  // namespace lockstep
