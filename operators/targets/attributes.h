// SPDX-License-Identifier: Apache-2.0
// The attributes of the operators of targets, written and read.
#pragma once

#include "operators/targets/targets.h"

namespace lockstep {

Attributes write_anchor_targets(const AnchorTargetsAttrs& attrs);
// Throws unless the levels are consistent and the numbers are valid.
AnchorTargetsAttrs read_anchor_targets(AttributeReader reader);

Attributes write_proposal_targets(const ProposalTargetsAttrs& attrs);
ProposalTargetsAttrs read_proposal_targets(AttributeReader reader);

Attributes write_mask_targets(const MaskTargetsAttrs& attrs);
MaskTargetsAttrs read_mask_targets(AttributeReader reader);

Attributes write_keypoint_targets(const KeypointTargetsAttrs& attrs);
KeypointTargetsAttrs read_keypoint_targets(AttributeReader reader);

// The number of anchors of a cell; equal for all levels.
int64_t anchors_of_a_cell(const AnchorTargetsAttrs& attrs);
int64_t anchors_of(const AnchorTargetsAttrs& attrs);  // of all levels

}  // namespace lockstep
