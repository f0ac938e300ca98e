// SPDX-License-Identifier: Apache-2.0
#include "data/voc/scores.h"

#include <algorithm>

#include "data/coco/overlap.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

constexpr double kVocOverlap = 0.5;

// Precision and recall after each detection, best first.
struct VocCurve {
  std::vector<double> precision, recall;
};

// 0, 0.1, .. 1, with the bits of numpy.arange.
double eleven_point_mean(const VocCurve& curve) {
  constexpr int kPoints = 11;
  double sum = 0;
  for (int i = 0; i < kPoints; ++i) {
    double best = 0;
    for (std::size_t d = 0; d < curve.recall.size(); ++d)
      if (curve.recall[d] >= i * 0.1) best = std::max(best, curve.precision[d]);
    sum += best / kPoints;
  }
  return sum;
}

// The area below the curve after each precision is raised to the largest at this or more recall.
double area_below(const VocCurve& curve) {
  double sum = 0, best = 0;
  for (std::size_t d = curve.recall.size(); d-- > 0;) {
    best = std::max(best, curve.precision[d]);
    sum += (curve.recall[d] - (d == 0 ? 0 : curve.recall[d - 1])) * best;
  }
  return sum;
}

class VocCategory {
 public:
  VocCategory(const Annotations& truth, std::size_t category)
      : truth_(truth), category_(static_cast<int32_t>(category)), taken_(truth.objects.size()) {
    for (const CocoObject& object : truth.objects)
      counted_ += object.category == category_ && counts(object);
  }

  int64_t counted() const { return counted_; }

  // `sorted` are detections of this category, best first.
  VocCurve judge(const std::vector<const Detection*>& sorted) {
    VocCurve curve;
    double right = 0, wrong = 0;
    for (const Detection* detection : sorted) {
      const std::size_t best = object_at(*detection);
      if (best == truth_.objects.size())
        ++wrong;
      else if (counts(truth_.objects[best]))
        ++(taken_[best] ? wrong : right);
      if (best < truth_.objects.size()) taken_[best] = true;
      if (right + wrong == 0) continue;  // only difficult objects so far
      curve.precision.push_back(right / (right + wrong));
      curve.recall.push_back(right / static_cast<double>(counted_));
    }
    return curve;
  }

 private:
  static bool counts(const CocoObject& object) { return !object.ignore && !object.crowd; }

  // The index of the object that the detection overlaps most, the first among equals, or the number
  // of objects if no overlap is above the limit.
  std::size_t object_at(const Detection& detection) const {
    double most = 0;
    std::size_t best = truth_.objects.size();
    for (std::size_t i = truth_.first_object[detection.image];
         i < truth_.first_object[detection.image + 1]; ++i) {
      if (truth_.objects[i].category != category_) continue;
      const double here = overlap(detection.bbox, truth_.objects[i].bbox, false);
      if (here > most) {
        most = here;
        best = i;
      }
    }
    return most > kVocOverlap ? best : truth_.objects.size();
  }

  const Annotations& truth_;
  int32_t category_;
  std::vector<bool> taken_;
  int64_t counted_ = 0;
};

}  // namespace

double VocScores::mean(const std::vector<double>& precisions) {
  double sum = 0;
  int64_t count = 0;
  for (double precision : precisions)
    if (precision >= 0) {
      sum += precision;
      ++count;
    }
  return count == 0 ? -1 : sum / static_cast<double>(count);
}

VocScores evaluate_voc(const Annotations& truth, const std::vector<Detection>& detections,
                       int threads) {
  const std::size_t categories = truth.categories.size();
  VocScores scores{std::vector<double>(categories, -1), std::vector<double>(categories, -1)};
  std::vector<std::vector<const Detection*>> of_category(categories);
  for (const Detection& detection : detections)
    of_category[detection.category].push_back(&detection);
  parallel_for(static_cast<int64_t>(categories), 1, threads, [&](int64_t begin, int64_t end) {
    for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k) {
      std::vector<const Detection*>& sorted = of_category[k];
      std::stable_sort(sorted.begin(), sorted.end(),
                       [](const Detection* a, const Detection* b) { return a->score > b->score; });
      VocCategory category(truth, k);
      if (category.counted() == 0) continue;
      const VocCurve curve = category.judge(sorted);
      scores.eleven_points[k] = eleven_point_mean(curve);
      scores.area[k] = area_below(curve);
    }
  });
  return scores;
}

}  // namespace lockstep
