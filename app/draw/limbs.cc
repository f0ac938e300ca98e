// SPDX-License-Identifier: Apache-2.0
#include "app/draw/limbs.h"

#include <algorithm>
#include <array>
#include <span>

namespace lockstep {
namespace {

using NamedLimb = std::pair<const char*, const char*>;

// Data sets order their points differently, so a limb is known by names. Each point of a person is
// an end of a limb.
constexpr std::array<NamedLimb, 19> kPersonLimbs{{
    {"nose", "left_eye"},
    {"nose", "right_eye"},
    {"left_eye", "right_eye"},
    {"left_eye", "left_ear"},
    {"right_eye", "right_ear"},
    {"left_ear", "left_shoulder"},
    {"right_ear", "right_shoulder"},
    {"left_shoulder", "right_shoulder"},
    {"left_shoulder", "left_elbow"},
    {"right_shoulder", "right_elbow"},
    {"left_elbow", "left_wrist"},
    {"right_elbow", "right_wrist"},
    {"left_shoulder", "left_hip"},
    {"right_shoulder", "right_hip"},
    {"left_hip", "right_hip"},
    {"left_hip", "left_knee"},
    {"right_hip", "right_knee"},
    {"left_knee", "left_ankle"},
    {"right_knee", "right_ankle"},
}};
constexpr std::array<NamedLimb, 5> kArrowLimbs{{
    {"tip", "left_barb"},
    {"tip", "right_barb"},
    {"left_barb", "left_tail"},
    {"right_barb", "right_tail"},
    {"left_tail", "right_tail"},
}};
constexpr std::array<std::span<const NamedLimb>, 2> kSkeletons{kPersonLimbs, kArrowLimbs};

}  // namespace

std::vector<Limb> limbs_of(const std::vector<std::string>& points) {
  const auto place = [&](const char* name) {
    return static_cast<std::size_t>(std::find(points.begin(), points.end(), name) - points.begin());
  };
  for (const std::span<const NamedLimb> skeleton : kSkeletons) {
    std::vector<Limb> limbs;
    for (const auto& [from, to] : skeleton) limbs.emplace_back(place(from), place(to));
    const bool complete = std::all_of(limbs.begin(), limbs.end(), [&](const Limb& limb) {
      return std::max(limb.first, limb.second) < points.size();
    });
    if (complete) return limbs;
  }
  return {};
}

}  // namespace lockstep
