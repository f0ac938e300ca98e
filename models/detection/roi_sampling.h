// SPDX-License-Identifier: Apache-2.0
// The RoIs that a training step of the second stage learns from, a sample of the proposals.
#pragma once

#include "models/detection/rpn.h"

namespace lockstep {

// The largest number of an image's RoIs sampled as objects.
int64_t foreground_rois(const DetectionTrainOptions& train);

// The rules by which TRAIN.BATCH_SIZE_PER_IM RoIs of an image are sampled.
ProposalTargetsAttrs roi_sampling(const DetectorOptions& options);

// The sample of each image, objects first, for boxes and masks.
SampledProposals sampled_rois(Graph& graph, const DetectorOptions& options,
                              const Proposals& proposals, const DetectorInputs& in);

}  // namespace lockstep
