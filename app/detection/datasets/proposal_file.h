// SPDX-License-Identifier: Apache-2.0
// proposals.safetensors: the boxes that an RPN found in the pictures of a data set. Fast R-CNN is
// trained and tested with them.
//   boxes      [N, 4] float32   left, top, right, bottom in the picture; half-open
//   scores     [N] float32      best first within a picture
//   first      [images + 1] int64   the first box of each picture, and N
//   image_ids  [images] int64   as in the annotations
// Metadata: `set`, the data set's name.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/detection/datasets/proposal_rules.h"

namespace lockstep {

void write_proposals(const std::string& path, const std::string& set, const Annotations& of,
                     std::span<const FoundBoxes> found);

// Reads the proposals of the data set `set` for each picture of `of`, best first. Throws naming the
// file if it is damaged, of another kind or of another data set.
std::vector<std::vector<Corners>> read_proposals(const std::string& path, const std::string& set,
                                                 const Annotations& of, const ProposalRules& rules);

}  // namespace lockstep
