// SPDX-License-Identifier: Apache-2.0
// Which of the proposals of a file are used, by Detectron's rules.
#pragma once

#include <vector>

#include "app/detection/detector_config.h"
#include "app/detection/found_boxes.h"
#include "data/coco/annotations.h"

namespace lockstep {

// Boxes are cut to the picture. Of those that round to the same place the best is taken, of those
// with a side below `least_side` none; then the best `places`, without those in crowds.
struct ProposalRules {
  int64_t places = 2000;
  double least_side = 2;
  // Coordinates round to the same place in units of 1 / `rounding` pixels of the picture, or, with
  // `scale` and `longest`, of the picture as it is scaled for a network. 0: all are taken.
  double rounding = 1;
  int64_t scale = 0, longest = 0;
  // A box is left out if more than this share of it lies in a crowd region; 0: none is.
  double crowd_share = 0;
  double least_area = -1;  // of crowd regions that count
};
ProposalRules proposal_rules_for_training(const DetectorConfig& config);
ProposalRules proposal_rules_for_testing(const DetectorConfig& config);

// Of the boxes of a picture of `of`, best first.
std::vector<Corners> chosen_proposals(const FoundBoxes& boxes, const Annotations& of,
                                      std::size_t picture, const ProposalRules& rules);

}  // namespace lockstep
