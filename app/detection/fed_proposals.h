// SPDX-License-Identifier: Apache-2.0
// Proposals from files, for networks without an RPN.
#pragma once

#include <string>
#include <vector>

#include "app/detection/detector_config.h"
#include "data/detection/picture_set.h"

namespace lockstep {

// Reads TRAIN.PROPOSAL_FILES, one for each of TRAIN.DATASETS; pictures count over all of them. None
// for a network that makes its own proposals.
PictureProposals proposals_for_training(const DetectorConfig& config);
// The same for some of TEST.DATASETS.
PictureProposals proposals_for_testing(const DetectorConfig& config,
                                       const std::vector<std::string>& sets);

}  // namespace lockstep
