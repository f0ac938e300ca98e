// SPDX-License-Identifier: Apache-2.0
// Proposals from files, for networks without an RPN.
#pragma once

#include <string>
#include <vector>

#include "app/detection/config/detector_config.h"
#include "data/detection/picture_set.h"

namespace lockstep {

// Reads TRAIN.PROPOSAL_FILES, a file for each of TRAIN.DATASETS; pictures are numbered over all
// sets. Null for a network that makes its own proposals.
PictureProposals proposals_for_training(const DetectorConfig& config);
// Reads the files of TEST.PROPOSAL_FILES for some of TEST.DATASETS.
PictureProposals proposals_for_testing(const DetectorConfig& config,
                                       const std::vector<std::string>& sets);
// As many, without boxes in crowds, as in training (TRAIN.CROWD_FILTER_THRESH).
PictureProposals proposals_for_held_out_loss(const DetectorConfig& config,
                                             const std::vector<std::string>& sets);

}  // namespace lockstep
