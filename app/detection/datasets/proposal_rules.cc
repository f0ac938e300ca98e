// SPDX-License-Identifier: Apache-2.0
#include "app/detection/datasets/proposal_rules.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "data/coco/overlap.h"
#include "data/coco/training_boxes.h"

namespace lockstep {
namespace {

using RoundedBox = std::array<int64_t, 4>;

// Rounds the last pixels within the box, as Detectron does.
RoundedBox rounded(const Corners& box, double factor) {
  RoundedBox place;
  for (std::size_t i = 0; i < 4; ++i)
    place[i] = std::llrint((static_cast<double>(box[i]) - (i < 2 ? 0 : 1)) * factor);
  return place;
}

Corners cut_to(const CocoImage& image, Corners box) {
  for (std::size_t i = 0; i < 4; ++i)
    box[i] = std::clamp(box[i], 0.0F, static_cast<float>(i % 2 == 0 ? image.width : image.height));
  return box;
}

std::vector<CocoBox> crowds_of(const Annotations& table, std::size_t picture, double least_area) {
  LeftOut ignored;
  std::vector<CocoBox> crowds;
  for (const TrainingBox& box : training_boxes(table, picture, least_area, ignored))
    if (box.crowd) crowds.push_back(coco_box_of(box.corners));
  return crowds;
}

}  // namespace

ProposalRules proposal_rules_for_training(const DetectorConfig& config) {
  return {.places = config.network.shape.proposals,
          .crowd_share = config.network.train.crowd_filter_thresh,
          .least_area = config.train.gt_min_area};
}

ProposalRules proposal_rules_for_testing(const DetectorConfig& config) {
  return {.places = config.network.test.proposal_limit};
}

void share_places(std::vector<Corners>& boxes, double factor) {
  if (factor <= 0) return;
  std::map<RoundedBox, Corners> first;
  for (Corners& box : boxes) box = first.try_emplace(rounded(box, factor), box).first->second;
}

std::vector<Corners> chosen_proposals(const FoundBoxes& boxes, const Annotations& of,
                                      std::size_t picture, const ProposalRules& rules) {
  const CocoImage& image = of.images[picture];
  std::set<RoundedBox> taken;
  std::vector<Corners> chosen;
  for (const FoundBox& found : boxes) {
    if (static_cast<int64_t>(chosen.size()) == rules.places) break;
    const Corners box = cut_to(image, found.corners);
    if (rules.rounding > 0 && !taken.insert(rounded(box, rules.rounding)).second) continue;
    if (box[2] - box[0] >= rules.least_side && box[3] - box[1] >= rules.least_side)
      chosen.push_back(box);
  }
  if (rules.crowd_share > 0)
    for (const CocoBox& crowd : crowds_of(of, picture, rules.least_area))
      std::erase_if(chosen, [&](const Corners& box) {
        return overlap(coco_box_of(box), crowd, true) > rules.crowd_share;
      });
  return chosen;
}

}  // namespace lockstep
