// SPDX-License-Identifier: Apache-2.0
#include "data/coco/scores.h"

#include <array>

namespace lockstep {
namespace {

constexpr std::size_t kLastOverlap = CocoScores::kOverlaps - 1, k50 = 0, k75 = 5;
using Numbers = CocoNumbers;

constexpr std::array<std::size_t, 3> kBoxLimits{1, 10, 100};
constexpr std::array<CocoNumberRule, 12> kBoxNumbers{{
    {"ap", &Numbers::ap, false, 0, kLastOverlap, 0, 2},
    {"ap50", &Numbers::ap50, false, k50, k50, 0, 2},
    {"ap75", &Numbers::ap75, false, k75, k75, 0, 2},
    {"ap_small", &Numbers::ap_small, false, 0, kLastOverlap, 1, 2},
    {"ap_medium", &Numbers::ap_medium, false, 0, kLastOverlap, 2, 2},
    {"ap_large", &Numbers::ap_large, false, 0, kLastOverlap, 3, 2},
    {"ar1", &Numbers::ar1, true, 0, kLastOverlap, 0, 0},
    {"ar10", &Numbers::ar10, true, 0, kLastOverlap, 0, 1},
    {"ar100", &Numbers::ar100, true, 0, kLastOverlap, 0, 2},
    {"ar_small", &Numbers::ar_small, true, 0, kLastOverlap, 1, 2},
    {"ar_medium", &Numbers::ar_medium, true, 0, kLastOverlap, 2, 2},
    {"ar_large", &Numbers::ar_large, true, 0, kLastOverlap, 3, 2},
}};

constexpr std::array<AreaRange, 3> kKeypointAreas{kAllAreas, kMediumAreas, kLargeAreas};
constexpr std::array<std::size_t, 1> kKeypointLimits{20};
constexpr std::array<CocoNumberRule, 10> kKeypointNumbers{{
    {"ap", &Numbers::ap, false, 0, kLastOverlap, 0, 0},
    {"ap50", &Numbers::ap50, false, k50, k50, 0, 0},
    {"ap75", &Numbers::ap75, false, k75, k75, 0, 0},
    {"ap_medium", &Numbers::ap_medium, false, 0, kLastOverlap, 1, 0},
    {"ap_large", &Numbers::ap_large, false, 0, kLastOverlap, 2, 0},
    {"ar20", &Numbers::ar20, true, 0, kLastOverlap, 0, 0},
    {"ar50", &Numbers::ar50, true, k50, k50, 0, 0},
    {"ar75", &Numbers::ar75, true, k75, k75, 0, 0},
    {"ar_medium", &Numbers::ar_medium, true, 0, kLastOverlap, 1, 0},
    {"ar_large", &Numbers::ar_large, true, 0, kLastOverlap, 2, 0},
}};

constexpr CocoRules kBoxRules{kCocoAreaRanges, kBoxLimits, kBoxNumbers};
constexpr CocoRules kKeypointRules{kKeypointAreas, kKeypointLimits, kKeypointNumbers};

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

double number_by(const CocoNumberRule& rule, const CocoScores& scores) {
  Mean mean;
  for (std::size_t at = rule.first_overlap; at <= rule.last_overlap; ++at)
    for (std::size_t r = 0; r < (rule.of_recall ? 1 : CocoScores::kRecalls); ++r)
      for (std::size_t k = 0; k < scores.categories(); ++k)
        mean.add(rule.of_recall
                     ? scores.recall[scores.recall_place(at, k, rule.area, rule.limit)]
                     : scores.precision[scores.precision_place(at, r, k, rule.area, rule.limit)]);
  return mean.value();
}

}  // namespace

const CocoRules& coco_box_rules() { return kBoxRules; }
const CocoRules& coco_keypoint_rules() { return kKeypointRules; }

CocoScores::CocoScores(std::size_t categories, const CocoRules& rules)
    : precision(kOverlaps * kRecalls * categories * rules.areas.size() * rules.limits.size(), -1),
      recall(kOverlaps * categories * rules.areas.size() * rules.limits.size(), -1),
      rules_(&rules),
      categories_(categories) {}

CocoNumbers CocoScores::numbers() const {
  CocoNumbers numbers;
  for (const CocoNumberRule& rule : rules_->numbers) numbers.*rule.number = number_by(rule, *this);
  return numbers;
}

std::vector<std::pair<const char*, double>> CocoScores::named_numbers() const {
  std::vector<std::pair<const char*, double>> named;
  for (const CocoNumberRule& rule : rules_->numbers)
    named.emplace_back(rule.name, number_by(rule, *this));
  return named;
}

double CocoScores::average_precision(std::size_t area, std::size_t category) const {
  Mean mean;
  for (std::size_t at = 0; at < kOverlaps; ++at)
    for (std::size_t r = 0; r < kRecalls; ++r)
      mean.add(precision[precision_place(at, r, category, area, most_detections())]);
  return mean.value();
}

double CocoScores::average_precision_at(std::size_t at, std::size_t category) const {
  Mean mean;
  for (double value : precision_curve(at, category)) mean.add(value);
  return mean.value();
}

double CocoScores::average_recall(std::size_t area, std::size_t category) const {
  Mean mean;
  for (std::size_t at = 0; at < kOverlaps; ++at)
    mean.add(recall[recall_place(at, category, area, most_detections())]);
  return mean.value();
}

std::vector<double> CocoScores::precision_curve(std::size_t at, std::size_t category) const {
  std::vector<double> curve;
  for (std::size_t r = 0; r < kRecalls; ++r)
    curve.push_back(precision[precision_place(at, r, category, 0, most_detections())]);
  return curve;
}

}  // namespace lockstep
