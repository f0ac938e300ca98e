// SPDX-License-Identifier: Apache-2.0
#include "data/coco/keypoints.h"

#include <algorithm>
#include <cmath>

#include "graph/listed.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

struct CocoPoint {
  const char* name;
  double sigma;  // times 10
};

// A person's points. pycocotools divides these numbers by 10, which decides the sigmas' last bits.
constexpr CocoPoint kCocoPoints[] = {
    {"nose", 0.26},        {"left_eye", 0.25},      {"right_eye", 0.25},      {"left_ear", 0.35},
    {"right_ear", 0.35},   {"left_shoulder", 0.79}, {"right_shoulder", 0.79}, {"left_elbow", 0.72},
    {"right_elbow", 0.72}, {"left_wrist", 0.62},    {"right_wrist", 0.62},    {"left_hip", 1.07},
    {"right_hip", 1.07},   {"left_knee", 0.87},     {"right_knee", 0.87},     {"left_ankle", 0.89},
    {"right_ankle", 0.89}};

bool are_cocos(const std::vector<std::string>& names) {
  return std::ranges::equal(names, kCocoPoints, {}, {}, &CocoPoint::name);
}

}  // namespace

KeypointPairs pairs_by_name(const std::vector<std::string>& names) {
  const std::string left = "left_", right = "right_";
  KeypointPairs pairs;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!names[i].starts_with(left)) continue;
    const auto other = std::find(names.begin(), names.end(), right + names[i].substr(left.size()));
    if (other != names.end()) pairs.emplace_back(i, other - names.begin());
  }
  return pairs;
}

std::string text_of_pairs(const CocoCategory& category) {
  std::vector<std::string> pairs;
  for (const auto& [one, other] : category.swap)
    pairs.push_back(category.keypoints[one] + " and " + category.keypoints[other]);
  return pairs.empty() ? "none" : listed(pairs);
}

void check_sigmas(std::span<const double> sigmas) {
  for (std::size_t i = 0; i < sigmas.size(); ++i)
    check(sigmas[i] > 0 && std::isfinite(sigmas[i]), "the sigma of point ", i, " is ", sigmas[i],
          ", should be a number above 0");
}

std::vector<double> sigmas_of(const Annotations& table) {
  if (!table.keypoint_sigmas.empty()) return table.keypoint_sigmas;
  bool any = false;
  for (const CocoCategory& category : table.categories) {
    if (category.keypoints.empty()) continue;
    any = true;
    check(are_cocos(category.keypoints), table.path, ": the ", category.keypoints.size(),
          " keypoints of '", category.name, "' (", first_listed(category.keypoints, 8),
          ") have no sigmas, which their scores need: give the data set KEYPOINT_SIGMAS in "
          "DATASETS, a number for each, such as 0.05; only for COCO's 17 points the sigmas are "
          "known");
  }
  check(any, table.path, ": no category has keypoints to score");
  std::vector<double> sigmas;
  for (const CocoPoint& point : kCocoPoints) sigmas.push_back(point.sigma / 10);
  return sigmas;
}

}  // namespace lockstep
