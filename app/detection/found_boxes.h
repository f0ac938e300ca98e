// SPDX-License-Identifier: Apache-2.0
// The boxes that a detector found in pictures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/coco/results.h"
#include "lockstep/processes.h"

namespace lockstep {

struct FoundBox {
  Corners corners{};  // in the picture
  float score = 0;
  int64_t kind = 0;  // the class, from 1 on; 0 for a proposal
  friend bool operator==(const FoundBox&, const FoundBox&) = default;
};
using FoundBoxes = std::vector<FoundBox>;  // of one picture, best first

bool is_finite(const FoundBox& box);
// "1, 2, 3, 4 with a score of 0.5"
std::string text_of(const FoundBox& box);

// Detections in the order of the pictures. Proposals get category 0, which their scoring ignores.
std::vector<Detection> detections_of(const std::vector<FoundBoxes>& pictures);

// Gathers all ranks' boxes on rank 0; other ranks get nothing. Rank r of n has the pictures r, r +
// n, r + 2 n, .. of `pictures`.
std::vector<FoundBoxes> gather_boxes(Comm& comm, const std::vector<FoundBoxes>& mine,
                                     std::size_t pictures);

}  // namespace lockstep
