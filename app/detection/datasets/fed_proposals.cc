// SPDX-License-Identifier: Apache-2.0
#include "app/detection/datasets/fed_proposals.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "app/detection/datasets/data_sets.h"
#include "app/detection/datasets/proposal_file.h"
#include "lockstep/error.h"
#include "models/detection/inputs.h"

namespace lockstep {
namespace {

using BoxesOfPictures = std::vector<std::vector<Corners>>;

// Reads each set's annotations separately: joined sets may have an id twice.
PictureProposals proposals_from(const DetectorConfig& config, const DetectionData& data,
                                const std::string& section, const std::vector<std::string>& sets,
                                const ProposalRules& rules) {
  if (!takes_proposals(config.network)) return nullptr;
  const std::string files_key = section + ".PROPOSAL_FILES", sets_key = section + ".DATASETS";
  const std::string at = config.origins.blame({files_key}, config.path);
  check(data.proposal_files.size() == data.datasets.size(), at, " names ",
        data.proposal_files.size(), " files for the ", data.datasets.size(), " sets of ", sets_key,
        "; a network without an RPN needs a file for each, which `lockstep test` of an RPN writes");
  auto boxes = std::make_shared<BoxesOfPictures>();
  for (const std::string& set : sets) {
    const std::size_t i =
        std::find(data.datasets.begin(), data.datasets.end(), set) - data.datasets.begin();
    const auto pictures = open_pictures(config, {set}, sets_key);
    BoxesOfPictures read =
        read_proposals(data.proposal_files.at(i), set, pictures->annotations(), rules);
    boxes->insert(boxes->end(), std::make_move_iterator(read.begin()),
                  std::make_move_iterator(read.end()));
  }
  return [boxes](std::size_t picture) { return boxes->at(picture); };
}

}  // namespace

PictureProposals proposals_for_training(const DetectorConfig& config) {
  return proposals_from(config, config.train.data, "TRAIN", config.train.data.datasets,
                        proposal_rules_for_training(config));
}

PictureProposals proposals_for_testing(const DetectorConfig& config,
                                       const std::vector<std::string>& sets) {
  return proposals_from(config, config.test.data, "TEST", sets, proposal_rules_for_testing(config));
}

PictureProposals proposals_for_held_out_loss(const DetectorConfig& config,
                                             const std::vector<std::string>& sets) {
  ProposalRules rules = proposal_rules_for_training(config);
  rules.places = proposal_rules_for_testing(config).places;
  return proposals_from(config, config.test.data, "TEST", sets, rules);
}

}  // namespace lockstep
