// SPDX-License-Identifier: Apache-2.0
// The part of report.html about a test of a detector: precision, recall, classes, pictures and
// mistakes. A test of proposals has another part.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "app/report/report_figures.h"
#include "data/coco/evaluation.h"

namespace lockstep {

struct DetectionTested {
  CocoScores scores{0};  // of boxes
  // Of a detector that finds masks or keypoints. With masks, mistakes are by masks.
  std::optional<CocoScores> mask_scores = {}, keypoint_scores = {};
  std::vector<std::string> classes;  // names, by category
  std::vector<int64_t> objects;      // of each category; may be empty
  std::vector<ShownScene> scenes;
  std::vector<ShownMistake> mistakes;
  std::array<int64_t, kMistakeKinds> mistake_counts{};
  double least_score = 0.5;  // of the detections that are shown
  int64_t iteration = 0;
  int64_t pictures = 0;  // tested
};

std::string html_of(const DetectionTested& tested);

struct ProposalsTested {
  ProposalRecall few, many;  // for example, of 100 and of 1,000 proposals
  std::vector<ShownScene> scenes;
  int64_t iteration = 0;
  int64_t pictures = 0;
};

std::string html_of(const ProposalsTested& tested);

}  // namespace lockstep
