// SPDX-License-Identifier: Apache-2.0
// Selects proposals of a file by Detectron's rules.
#pragma once

#include <vector>

#include "app/detection/config/detector_config.h"
#include "app/detection/find/found_boxes.h"
#include "data/coco/annotations.h"

namespace lockstep {

// Boxes are clipped to the picture. Of boxes that round to equal corners only the best is kept.
// Boxes with a side below `least_side` are dropped. Of the rest the best `places` are kept, except
// boxes in crowds.
struct ProposalRules {
  int64_t places = 2000;
  double least_side = 2;
  double rounding = 1;  // corners are rounded to units of 1 / `rounding` pixels; 0: they are not
  // A box is dropped if more than this fraction of its area is in a crowd region; 0: never.
  double crowd_share = 0;
  double least_area = -1;  // smallest area of a crowd region that counts
};
ProposalRules proposal_rules_for_training(const DetectorConfig& config);
ProposalRules proposal_rules_for_testing(const DetectorConfig& config);

// Replaces each box by the first box whose corners, times `factor`, round to the same numbers, so
// that a network gives both the same scores and the same refined box. 0: replaces none.
void share_places(std::vector<Corners>& boxes, double factor);

// Selects from the boxes of a picture of `of`, best first.
std::vector<Corners> chosen_proposals(const FoundBoxes& boxes, const Annotations& of,
                                      std::size_t picture, const ProposalRules& rules);

}  // namespace lockstep
