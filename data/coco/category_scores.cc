// SPDX-License-Identifier: Apache-2.0
#include "data/coco/category_scores.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

namespace lockstep {
namespace {

constexpr std::size_t kOverlaps = CocoScores::kOverlaps;
constexpr std::size_t kRecalls = CocoScores::kRecalls;

// The same bits as numpy.linspace.
double overlap_wanted(std::size_t i) {
  constexpr double kFirst = 0.5, kLast = 0.95;
  return i + 1 == kOverlaps
             ? kLast
             : kFirst + static_cast<double>(i) * ((kLast - kFirst) / (kOverlaps - 1));
}
double recall_wanted(std::size_t i) {
  return i + 1 == kRecalls ? 1 : static_cast<double>(i) * 0.01;
}

// In `found` and `ignored`, bit i is for overlap i.
struct Judged {
  double score = 0;
  std::size_t rank = 0;  // among detections of the group
  uint32_t found = 0;    // matches an object that counts
  uint32_t ignored = 0;
};

// Scores one category in one range of areas.
class CategoryScorer {
 public:
  CategoryScorer(CocoScores& scores, std::size_t category, std::size_t area)
      : scores_(scores), category_(category), area_(area), range_(scores.rules().areas[area]) {}

  void judge(const ScoredGroup& group) {
    const std::span<const ScoredObject> objects = group.objects;
    if (objects.empty()) return judge_alone(group.detections);
    // Objects that count come before ignored objects.
    order_.resize(objects.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    const std::size_t counted =
        std::stable_partition(order_.begin(), order_.end(),
                              [&](std::size_t g) {
                                return !objects[g].ignored && !outside(objects[g].area, range_);
                              }) -
        order_.begin();
    wanted_ += counted;
    const std::size_t first = judged_.size();
    for (std::size_t d = 0; d < group.detections.size(); ++d)
      judged_.push_back({group.detections[d].score, d, 0, 0});
    for (std::size_t at = 0; at < kOverlaps; ++at) {
      taken_.assign(objects.size(), false);
      for (std::size_t d = 0; d < group.detections.size(); ++d) {
        Judged& here = judged_[first + d];
        const std::size_t place = best_object(d, group, counted, at);
        if (place < order_.size()) {
          taken_[order_[place]] = true;
          (place < counted ? here.found : here.ignored) |= 1U << at;
        } else if (outside(group.detections[d].area, range_)) {
          here.ignored |= 1U << at;
        }
      }
    }
  }

  void finish() {
    if (wanted_ == 0) return;
    std::stable_sort(judged_.begin(), judged_.end(),
                     [](const Judged& a, const Judged& b) { return a.score > b.score; });
    for (std::size_t limit = 0; limit < scores_.rules().limits.size(); ++limit)
      for (std::size_t at = 0; at < kOverlaps; ++at) accumulate(limit, at);
  }

 private:
  // Judges detections in an image without objects of the category.
  void judge_alone(std::span<const ScoredDetection> detections) {
    constexpr uint32_t kAll = (1U << kOverlaps) - 1;
    for (std::size_t d = 0; d < detections.size(); ++d)
      judged_.push_back(
          {detections[d].score, d, 0, outside(detections[d].area, range_) ? kAll : 0});
  }

  // The index in order_ of the free object with the largest overlap, the last among equals. An
  // ignored object is chosen only if no counted object fits. A crowd stays free.
  std::size_t best_object(std::size_t detection, const ScoredGroup& group, std::size_t counted,
                          std::size_t at) const {
    constexpr double kAlmostAll = 1 - 1e-10;
    double best = std::min(overlap_wanted(at), kAlmostAll);
    std::size_t found = order_.size();
    for (std::size_t place = 0; place < order_.size(); ++place) {
      const std::size_t object = order_[place];
      if (taken_[object] && !group.objects[object].crowd) continue;
      if (place >= counted && found < counted) break;
      const double here = group.overlaps[detection * order_.size() + object];
      if (here < best) continue;
      best = here;
      found = place;
    }
    return found;
  }

  void accumulate(std::size_t limit, std::size_t at) {
    recalls_.clear();
    precisions_.clear();
    double found = 0, wrong = 0;
    for (const Judged& each : judged_) {
      if (each.rank >= scores_.rules().limits[limit] || each.ignored >> at & 1) continue;
      (each.found >> at & 1 ? found : wrong) += 1;
      recalls_.push_back(found / static_cast<double>(wanted_));
      precisions_.push_back(found / (wrong + found + std::numeric_limits<double>::epsilon()));
    }
    for (std::size_t i = precisions_.size(); i-- > 1;)
      precisions_[i - 1] = std::max(precisions_[i - 1], precisions_[i]);
    scores_.recall[scores_.recall_place(at, category_, area_, limit)] =
        recalls_.empty() ? 0 : recalls_.back();
    for (std::size_t r = 0; r < kRecalls; ++r) {
      const std::size_t place =
          std::lower_bound(recalls_.begin(), recalls_.end(), recall_wanted(r)) - recalls_.begin();
      scores_.precision[scores_.precision_place(at, r, category_, area_, limit)] =
          place < precisions_.size() ? precisions_[place] : 0;
    }
  }

  CocoScores& scores_;
  const std::size_t category_, area_;
  const AreaRange range_;
  std::vector<Judged> judged_;
  std::size_t wanted_ = 0;
  // State of the current group.
  std::vector<std::size_t> order_;
  std::vector<bool> taken_;
  std::vector<double> recalls_, precisions_;
};

}  // namespace

void score_category(CocoScores& scores, std::size_t category, std::size_t area,
                    std::span<const ScoredGroup* const> groups) {
  CategoryScorer scorer(scores, category, area);
  for (const ScoredGroup* group : groups) scorer.judge(*group);
  scorer.finish();
}

}  // namespace lockstep
