// SPDX-License-Identifier: Apache-2.0
#include "app/detection/find/merged_views.h"

#include <algorithm>

#include "graph/listed.h"
#include "lockstep/error.h"
#include "operators/boxes/refining.h"

namespace lockstep {
namespace {

Corners corners_at(const float* boxes, int64_t i) {
  Corners corners;
  std::copy_n(boxes + 4 * i, 4, corners.begin());
  return corners;
}

std::vector<float> divided(const std::vector<double>& sums, int64_t count) {
  std::vector<float> means;
  means.reserve(sums.size());
  for (const double sum : sums)
    means.push_back(static_cast<float>(sum / static_cast<double>(count)));
  return means;
}

}  // namespace

const std::vector<MergeHeuristic>& merge_heuristics() {
  static const std::vector<MergeHeuristic> rows{
      {.name = "ID"}, {.name = "AVG", .averages = true}, {.name = "UNION", .unites = true}};
  return rows;
}

const MergeHeuristic& merge_heuristic(const std::string& name) {
  if (const MergeHeuristic* const row = row_named(merge_heuristics(), name)) return *row;
  fail("no heuristic is called '", name, "'");
}

MergedViews::MergedViews(const RefinedAttrs& rules, const BoxAugmentation& augmentation)
    : rules_(rules),
      of_scores_(&merge_heuristic(augmentation.score_heur)),
      of_boxes_(&merge_heuristic(augmentation.coord_heur)) {}

void MergedViews::add(const View& view, bool is_plain, const ViewCandidates& candidates) {
  ++views_;
  if (of_scores_->unites)
    add_to_union(view, candidates);
  else
    add_to_means(view, is_plain, candidates);
}

// Leaves out candidates that cannot become results: most have scores near 0.
void MergedViews::add_to_union(const View& view, const ViewCandidates& candidates) {
  for (int64_t i = 0; i < candidates.count; ++i) {
    const int64_t kind = candidates.kinds ? candidates.kinds[i] : i % rules_.classes;
    if (kind == 0 || !(candidates.scores[i] > rules_.score_threshold)) continue;
    const Corners box = view.in_picture(corners_at(candidates.boxes, i));
    boxes_.insert(boxes_.end(), box.begin(), box.end());
    scores_.push_back(candidates.scores[i]);
    kinds_.push_back(kind);
  }
}

void MergedViews::add_to_means(const View& view, bool is_plain, const ViewCandidates& candidates) {
  check(!candidates.kinds, "views cannot be averaged: their candidates differ");
  const std::size_t count = candidates.count;
  score_sums_.resize(count);
  box_sums_.resize(4 * count);
  if (of_scores_->averages || is_plain)
    for (std::size_t i = 0; i < count; ++i) score_sums_[i] += candidates.scores[i];
  if (of_boxes_->averages || is_plain)
    for (std::size_t i = 0; i < count; ++i) {
      const Corners box = view.in_picture(corners_at(candidates.boxes, static_cast<int64_t>(i)));
      for (std::size_t k = 0; k < 4; ++k) box_sums_[4 * i + k] += box[k];
    }
}

FoundBoxes MergedViews::results() const {
  if (of_scores_->unites) return chosen(boxes_, scores_, kinds_);
  return chosen(divided(box_sums_, of_boxes_->averages ? views_ : 1),
                divided(score_sums_, of_scores_->averages ? views_ : 1), {});
}

FoundBoxes MergedViews::chosen(const std::vector<float>& boxes, const std::vector<float>& scores,
                               const std::vector<int64_t>& kinds) const {
  const RefinedResults choice(rules_, static_cast<int64_t>(scores.size()));
  const std::size_t capacity = rules_.capacity;
  std::vector<std::byte> memory(choice.bytes());
  std::vector<float> corners(4 * capacity), of_boxes(capacity);
  std::vector<int64_t> of_kinds(capacity);
  const int64_t count =
      choice.run(boxes.data(), scores.data(), kinds.empty() ? nullptr : kinds.data(),
                 {corners.data(), of_boxes.data(), of_kinds.data()}, memory.data());
  FoundBoxes found;
  for (int64_t i = 0; i < count; ++i)
    found.push_back({corners_at(corners.data(), i), of_boxes[i], of_kinds[i]});
  return found;
}

}  // namespace lockstep
