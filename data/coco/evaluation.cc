// SPDX-License-Identifier: Apache-2.0
#include "data/coco/evaluation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "data/coco/areas.h"
#include "data/coco/overlap.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

constexpr std::size_t kOverlaps = CocoScores::kOverlaps;
constexpr std::size_t kRecalls = CocoScores::kRecalls;
constexpr std::array<std::size_t, CocoScores::kLimits> kLimits{1, 10, 100};
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

// A detection for one range of areas. In `found` and `ignored`, bit i is for overlap i.
struct Judged {
  double score = 0;
  std::size_t rank = 0;  // among detections of the image and category
  uint32_t found = 0;    // matches an object that counts
  uint32_t ignored = 0;
};

// Scores one category.
class CategoryScorer {
 public:
  CategoryScorer(CocoScores& scores, std::size_t category) : scores_(scores), category_(category) {}

  // `detections` are at most 100, best first.
  void add_image(std::span<const CocoObject* const> objects,
                 std::span<const Detection* const> detections) {
    overlaps_.clear();
    for (const Detection* detection : detections)
      for (const CocoObject* object : objects)
        overlaps_.push_back(overlap(detection->bbox, object->bbox, object->crowd));
    for (std::size_t area = 0; area < kCocoAreas; ++area) judge(area, objects, detections);
  }

  void finish() {
    for (std::size_t area = 0; area < kCocoAreas; ++area) {
      if (wanted_[area] == 0) continue;
      std::vector<Judged>& judged = judged_[area];
      std::stable_sort(judged.begin(), judged.end(),
                       [](const Judged& a, const Judged& b) { return a.score > b.score; });
      for (std::size_t limit = 0; limit < kLimits.size(); ++limit)
        for (std::size_t at = 0; at < kOverlaps; ++at) accumulate(area, limit, at);
    }
  }

 private:
  void judge(std::size_t area, std::span<const CocoObject* const> objects,
             std::span<const Detection* const> detections) {
    // Objects that count come before ignored objects.
    order_.resize(objects.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    const auto ignored = [&](std::size_t g) {
      return objects[g]->crowd || outside(objects[g]->area, area);
    };
    const std::size_t counted = std::stable_partition(order_.begin(), order_.end(),
                                                      [&](std::size_t g) { return !ignored(g); }) -
                                order_.begin();
    wanted_[area] += counted;
    const std::size_t first = judged_[area].size();
    for (std::size_t d = 0; d < detections.size(); ++d)
      judged_[area].push_back({detections[d]->score, d, 0, 0});
    for (std::size_t at = 0; at < kOverlaps; ++at) {
      taken_.assign(objects.size(), false);
      for (std::size_t d = 0; d < detections.size(); ++d) {
        Judged& here = judged_[area][first + d];
        const std::size_t place = best_object(d, objects, counted, at);
        if (place < order_.size()) {
          taken_[order_[place]] = true;
          (place < counted ? here.found : here.ignored) |= 1U << at;
        } else if (outside(area_of(detections[d]->bbox), area)) {
          here.ignored |= 1U << at;
        }
      }
    }
  }

  // The index in order_ of the free object with the largest overlap, the last among equals. An
  // ignored object is chosen only if no counted object fits. A crowd stays free.
  std::size_t best_object(std::size_t detection, std::span<const CocoObject* const> objects,
                          std::size_t counted, std::size_t at) const {
    constexpr double kAlmostAll = 1 - 1e-10;
    double best = std::min(overlap_wanted(at), kAlmostAll);
    std::size_t found = order_.size();
    for (std::size_t place = 0; place < order_.size(); ++place) {
      const std::size_t object = order_[place];
      if (taken_[object] && !objects[object]->crowd) continue;
      if (place >= counted && found < counted) break;
      const double here = overlaps_[detection * objects.size() + object];
      if (here < best) continue;
      best = here;
      found = place;
    }
    return found;
  }

  void accumulate(std::size_t area, std::size_t limit, std::size_t at) {
    recalls_.clear();
    precisions_.clear();
    double found = 0, wrong = 0;
    for (const Judged& each : judged_[area]) {
      if (each.rank >= kLimits[limit] || each.ignored >> at & 1) continue;
      (each.found >> at & 1 ? found : wrong) += 1;
      recalls_.push_back(found / static_cast<double>(wanted_[area]));
      precisions_.push_back(found / (wrong + found + std::numeric_limits<double>::epsilon()));
    }
    for (std::size_t i = precisions_.size(); i-- > 1;)
      precisions_[i - 1] = std::max(precisions_[i - 1], precisions_[i]);
    scores_.recall[scores_.recall_place(at, category_, area, limit)] =
        recalls_.empty() ? 0 : recalls_.back();
    for (std::size_t r = 0; r < kRecalls; ++r) {
      const std::size_t place =
          std::lower_bound(recalls_.begin(), recalls_.end(), recall_wanted(r)) - recalls_.begin();
      scores_.precision[scores_.precision_place(at, r, category_, area, limit)] =
          place < precisions_.size() ? precisions_[place] : 0;
    }
  }

  CocoScores& scores_;
  const std::size_t category_;
  std::array<std::vector<Judged>, kCocoAreas> judged_;
  std::array<std::size_t, kCocoAreas> wanted_{};
  // State of the current image.
  std::vector<double> overlaps_;  // detection by detection
  std::vector<std::size_t> order_;
  std::vector<bool> taken_;
  std::vector<double> recalls_, precisions_;
};

// The order of images: by ascending id, as in pycocotools. Joined sets may have an id twice, for
// different images.
std::pair<int64_t, std::size_t> turn_of(const Annotations& truth, std::size_t image) {
  return {truth.images[image].id, image};
}

// Sorts indices of detections image by image in the order of turn_of(), best first within an image.
std::vector<std::size_t> best_first(const Annotations& truth,
                                    const std::vector<Detection>& detections,
                                    std::vector<std::size_t> chosen) {
  const auto turn = [&](std::size_t place) { return turn_of(truth, detections[place].image); };
  std::stable_sort(chosen.begin(), chosen.end(), [&](std::size_t a, std::size_t b) {
    if (detections[a].image != detections[b].image) return turn(a) < turn(b);
    return detections[a].score > detections[b].score;
  });
  return chosen;
}

std::vector<std::size_t> images_by_id(const Annotations& truth) {
  std::vector<std::size_t> images(truth.images.size());
  std::iota(images.begin(), images.end(), std::size_t{0});
  std::sort(images.begin(), images.end(),
            [&](std::size_t a, std::size_t b) { return turn_of(truth, a) < turn_of(truth, b); });
  return images;
}

void score_category(CocoScores& scores, std::size_t category, const Annotations& truth,
                    const std::vector<Detection>& detections,
                    const std::vector<std::size_t>& images, std::vector<std::size_t> chosen) {
  const std::vector<std::size_t> sorted = best_first(truth, detections, std::move(chosen));
  CategoryScorer scorer(scores, category);
  std::vector<const CocoObject*> objects;
  std::vector<const Detection*> found;
  std::size_t next = 0;
  for (std::size_t image : images) {
    objects.clear();
    found.clear();
    for (const CocoObject& object : truth.objects_of(image))
      if (static_cast<std::size_t>(object.category) == category) objects.push_back(&object);
    for (; next < sorted.size(); ++next) {
      const Detection& detection = detections[sorted[next]];
      if (static_cast<std::size_t>(detection.image) != image) break;
      if (found.size() < kLimits.back()) found.push_back(&detection);
    }
    if (!objects.empty() || !found.empty()) scorer.add_image(objects, found);
  }
  scorer.finish();
}

// The mean of all values except -1. The mean of no values is -1.
class Mean {
 public:
  void add(double value) {
    if (value < 0) return;
    sum_ += value;
    ++count_;
  }
  double value() const { return count_ == 0 ? -1 : sum_ / static_cast<double>(count_); }

 private:
  double sum_ = 0;
  std::size_t count_ = 0;
};

}  // namespace

CocoScores::CocoScores(std::size_t categories)
    : precision(kOverlaps * kRecalls * categories * kCocoAreas * kLimits, -1),
      recall(kOverlaps * categories * kCocoAreas * kLimits, -1),
      categories_(categories) {}

double CocoScores::average_precision(std::size_t area, std::size_t category) const {
  Mean mean;
  for (std::size_t at = 0; at < kOverlaps; ++at)
    for (std::size_t r = 0; r < kRecalls; ++r)
      mean.add(precision[precision_place(at, r, category, area, kLimits - 1)]);
  return mean.value();
}

double CocoScores::average_precision_at(std::size_t at, std::size_t category) const {
  Mean mean;
  for (double value : precision_curve(at, category)) mean.add(value);
  return mean.value();
}

std::vector<double> CocoScores::precision_curve(std::size_t at, std::size_t category) const {
  std::vector<double> curve;
  for (std::size_t r = 0; r < kRecalls; ++r)
    curve.push_back(precision[precision_place(at, r, category, 0, kLimits - 1)]);
  return curve;
}

CocoNumbers CocoScores::numbers() const {
  const auto precision_over = [&](std::size_t first, std::size_t last, std::size_t area) {
    Mean mean;
    for (std::size_t at = first; at <= last; ++at)
      for (std::size_t r = 0; r < kRecalls; ++r)
        for (std::size_t k = 0; k < categories_; ++k)
          mean.add(precision[precision_place(at, r, k, area, kLimits - 1)]);
    return mean.value();
  };
  const auto recall_over = [&](std::size_t area, std::size_t limit) {
    Mean mean;
    for (std::size_t at = 0; at < kOverlaps; ++at)
      for (std::size_t k = 0; k < categories_; ++k)
        mean.add(recall[recall_place(at, k, area, limit)]);
    return mean.value();
  };
  constexpr std::size_t kLast = kOverlaps - 1, k75 = 5;
  return {precision_over(0, kLast, 0), precision_over(0, 0, 0),     precision_over(k75, k75, 0),
          precision_over(0, kLast, 1), precision_over(0, kLast, 2), precision_over(0, kLast, 3),
          recall_over(0, 0),           recall_over(0, 1),           recall_over(0, 2),
          recall_over(1, 2),           recall_over(2, 2),           recall_over(3, 2)};
}

CocoScores evaluate_boxes(const Annotations& truth, const std::vector<Detection>& detections,
                          int threads) {
  const std::size_t categories = truth.categories.size();
  CocoScores scores(categories);
  std::vector<std::vector<std::size_t>> of_category(categories);
  for (std::size_t i = 0; i < detections.size(); ++i)
    of_category[detections[i].category].push_back(i);
  const std::vector<std::size_t> images = images_by_id(truth);
  parallel_for(static_cast<int64_t>(categories), 1, threads, [&](int64_t begin, int64_t end) {
    for (std::size_t k = begin; k < static_cast<std::size_t>(end); ++k)
      score_category(scores, k, truth, detections, images, std::move(of_category[k]));
  });
  return scores;
}

}  // namespace lockstep
