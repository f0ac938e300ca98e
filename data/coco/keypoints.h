// SPDX-License-Identifier: Apache-2.0
// Facts about the keypoints of a data set: pairs that a mirrored picture swaps, and the sigmas by
// which keypoints are scored.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/coco/annotations.h"

namespace lockstep {

// The pairs of points whose names differ in left_ and right_.
KeypointPairs pairs_by_name(const std::vector<std::string>& names);

// The names of a category's pairs: "left_eye and right_eye, left_ear and right_ear"; "none".
std::string text_of_pairs(const CocoCategory& category);

// Throws unless each sigma is a number above 0.
void check_sigmas(std::span<const double> sigmas);

// The sigmas of the set's keypoints: the set's own, or COCO's if its points have the names of
// COCO's 17. Throws for other points without sigmas; the error names the key.
std::vector<double> sigmas_of(const Annotations& table);

}  // namespace lockstep
