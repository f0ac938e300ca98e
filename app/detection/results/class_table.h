// SPDX-License-Identifier: Apache-2.0
// The scores of each class, as `lockstep test` prints them.
#pragma once

#include <string>

#include "app/detection/results/box_test.h"

namespace lockstep {

// A line of headings and a line for each class, with columns for the scores that the result has: of
// boxes, by Pascal VOC's rules, of masks, of keypoints. Empty without scores, and for a data set of
// more classes than a terminal shows.
std::string class_table(const BoxTestResult& result, const Annotations& table);

}  // namespace lockstep
