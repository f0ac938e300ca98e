// SPDX-License-Identifier: Apache-2.0
// Lines between keypoints, which show how the points belong together.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

using Limb = std::pair<std::size_t, std::size_t>;  // indices of two points

// The limbs between points with these names: of a person, if all 17 points of COCO are among them,
// or of the arrow of generated scenes. Other points have no limbs.
std::vector<Limb> limbs_of(const std::vector<std::string>& points);

}  // namespace lockstep
