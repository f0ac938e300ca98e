// SPDX-License-Identifier: Apache-2.0
// Joins the candidates that a network found in the views of a picture, and chooses the results
// among them, as Detectron does.
#pragma once

#include <string>
#include <vector>

#include "app/detection/find/found_boxes.h"
#include "app/detection/find/views.h"
#include "operators/boxes/boxes.h"

namespace lockstep {

// The candidates of one view, in the coordinates of the view before scaling.
struct ViewCandidates {
  const float* boxes = nullptr;    // [count, 4]
  const float* scores = nullptr;   // [count]
  const int64_t* kinds = nullptr;  // [count]; null: kind j mod the number of classes
  int64_t count = 0;
};

// How the views of a picture are joined: its scores by TEST.BBOX_AUG.SCORE_HEUR, its boxes by
// COORD_HEUR.
struct MergeHeuristic {
  const char* name;
  // All candidates of all views count. Otherwise candidate j is the same proposal in each view.
  bool unites = false;
  bool averages = false;  // the mean over all views, otherwise the number of the plain view
};
const std::vector<MergeHeuristic>& merge_heuristics();
// The row of a name that is known to be one.
const MergeHeuristic& merge_heuristic(const std::string& name);

// The views of one picture. Views are added in any order; among equal scores, boxes of an earlier
// view come first.
class MergedViews {
 public:
  // `rules` choose the results (result_rules()).
  MergedViews(const RefinedAttrs& rules, const BoxAugmentation& augmentation);

  void add(const View& view, bool is_plain, const ViewCandidates& candidates);
  FoundBoxes results() const;

 private:
  void add_to_union(const View& view, const ViewCandidates& candidates);
  void add_to_means(const View& view, bool is_plain, const ViewCandidates& candidates);
  FoundBoxes chosen(const std::vector<float>& boxes, const std::vector<float>& scores,
                    const std::vector<int64_t>& kinds) const;

  RefinedAttrs rules_;
  const MergeHeuristic *of_scores_, *of_boxes_;
  int64_t views_ = 0;
  std::vector<float> boxes_, scores_;  // of all views
  std::vector<int64_t> kinds_;
  std::vector<double> box_sums_, score_sums_;
};

}  // namespace lockstep
