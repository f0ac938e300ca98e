// SPDX-License-Identifier: Apache-2.0
#include "models/detection/roi_sampling.h"

#include <cmath>

namespace lockstep {

int64_t foreground_rois(const DetectionTrainOptions& train) {
  return std::llrint(train.fg_fraction * static_cast<double>(train.batch_size_per_im));
}

ProposalTargetsAttrs roi_sampling(const DetectorOptions& options) {
  const DetectionTrainOptions& train = options.train;
  ProposalTargetsAttrs attrs{.sample = train.batch_size_per_im,
                             .foreground = foreground_rois(train),
                             .foreground_overlap = static_cast<float>(train.fg_thresh),
                             .background_high = static_cast<float>(train.bg_thresh_hi),
                             .background_low = static_cast<float>(train.bg_thresh_lo),
                             .crowd_overlap = static_cast<float>(train.crowd_filter_thresh),
                             .weights = {},
                             .box_overlap = train.bbox_thresh == train.fg_thresh
                                                ? 0
                                                : static_cast<float>(train.bbox_thresh)};
  for (double weight : options.model.bbox_reg_weights)
    attrs.weights.push_back(static_cast<float>(weight));
  return attrs;
}

SampledProposals sampled_rois(Graph& graph, const DetectorOptions& options,
                              const Proposals& proposals, const DetectorInputs& in) {
  return proposal_targets(graph, proposals.boxes.value, proposals.sources, in.truth,
                          in.image_number, roi_sampling(options), "rois");
}

}  // namespace lockstep
