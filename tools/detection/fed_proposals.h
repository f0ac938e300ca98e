// Proposals from files, for networks without an RPN.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/detection/boxes.h"
#include "tools/detection/detector_config.h"

namespace lockstep {

// Of a picture of the set, best first.
using PictureProposals = std::function<std::vector<Corners>(std::size_t picture)>;

bool takes_proposals(const DetectorConfig& config);

// Reads TRAIN.PROPOSAL_FILES, one for each of TRAIN.DATASETS; pictures count over all of them.
PictureProposals proposals_for_training(const DetectorConfig& config);
// The same for some of TEST.DATASETS.
PictureProposals proposals_for_testing(const DetectorConfig& config,
                                       const std::vector<std::string>& sets);

}  // namespace lockstep
