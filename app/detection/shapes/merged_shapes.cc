// SPDX-License-Identifier: Apache-2.0
#include "app/detection/shapes/merged_shapes.h"

#include <algorithm>
#include <cmath>

#include "graph/listed.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr float kLeastProbability = 1e-20F;  // in a logit, as in Detectron

float logit_of(float probability) {
  return -std::log((1 - probability) / std::max(probability, kLeastProbability));
}
float probability_of(float logit) { return 1 / (1 + std::exp(-logit)); }

}  // namespace

const std::vector<ShapeHeuristic>& mask_heuristics() {
  static const std::vector<ShapeHeuristic> rows{{.name = "SOFT_AVG"},
                                                {.name = "SOFT_MAX", .takes_largest = true},
                                                {.name = "LOGIT_AVG", .of_logits = true}};
  return rows;
}

const std::vector<ShapeHeuristic>& heatmap_heuristics() {
  static const std::vector<ShapeHeuristic> rows{{.name = "HM_AVG"},
                                                {.name = "HM_MAX", .takes_largest = true}};
  return rows;
}

const ShapeHeuristic& shape_heuristic(const std::vector<ShapeHeuristic>& rows,
                                      const std::string& name) {
  if (const ShapeHeuristic* const row = row_named(rows, name)) return *row;
  fail("no heuristic is called '", name, "'");
}

MergedShapes::MergedShapes(const ShapeHeuristic& rule, std::size_t boxes, std::size_t numbers)
    : rule_(&rule), numbers_(numbers), joined_(boxes * numbers), views_(boxes) {}

void MergedShapes::add(std::size_t box, std::span<const float> shape) {
  check(shape.size() == numbers_, "a view shows ", shape.size(), " numbers of a box, should be ",
        numbers_);
  const bool first = views_.at(box)++ == 0;
  float* const joined = joined_.data() + box * numbers_;
  for (std::size_t i = 0; i < numbers_; ++i) {
    const float number = rule_->of_logits ? logit_of(shape[i]) : shape[i];
    if (first)
      joined[i] = number;
    else
      joined[i] = rule_->takes_largest ? std::max(joined[i], number) : joined[i] + number;
  }
}

std::vector<float> MergedShapes::of(std::size_t box) const {
  check(views_.at(box) > 0, "internal: box ", box, " is in no view");
  const float* const joined = joined_.data() + box * numbers_;
  std::vector<float> shape(joined, joined + numbers_);
  if (rule_->takes_largest) return shape;
  for (float& number : shape) {
    number /= static_cast<float>(views_[box]);
    if (rule_->of_logits) number = probability_of(number);
  }
  return shape;
}

std::vector<float> mirrored_back(std::span<const float> shape, int64_t side,
                                 const KeypointPairs& pairs) {
  std::vector<float> turned(shape.begin(), shape.end());
  for (auto row = turned.begin(); row < turned.end(); row += side) std::reverse(row, row + side);
  const int64_t plane = side * side;
  const std::size_t planes = shape.size() / static_cast<std::size_t>(plane);
  for (const auto& [one, other] : pairs) {
    check(one < planes && other < planes, "points ", one, " and ", other,
          " change places in mirrored pictures, but there are ", planes, " points");
    const auto from = turned.begin() + static_cast<int64_t>(one) * plane;
    std::swap_ranges(from, from + plane, turned.begin() + static_cast<int64_t>(other) * plane);
  }
  return turned;
}

}  // namespace lockstep
