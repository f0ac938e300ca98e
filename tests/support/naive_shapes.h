// SPDX-License-Identifier: Apache-2.0
// MaskTargets and KeypointTargets by their definitions. A polygon's sides are traced point by point
// on COCO's grid, and every change of a column is applied to all pixels that follow.
#pragma once

#include <vector>

#include "operators/targets/targets.h"
#include "tests/support/op_case.h"

namespace lockstep::testing {

Reference naive_mask_targets(const MaskTargetsAttrs& attrs);
Reference naive_keypoint_targets(const KeypointTargetsAttrs& attrs);

// The operators as cases. Operands have the names of targets.h.
struct MaskOperands {
  CaseInput rois, matches, vertices, vertex_of;
};
OpCase mask_targets_case(const std::string& name, const MaskOperands& operands,
                         const MaskTargetsAttrs& attrs);
OpCase keypoint_targets_case(const std::string& name, CaseInput rois, CaseInput matches,
                             CaseInput keypoints, const KeypointTargetsAttrs& attrs);

// Rings of one image, as operands of MaskTargets.
struct NaiveRing {
  int64_t object = 0, ring = 0;
  std::vector<float> xy;
};
// Fills [images, places, 2] of vertices and of vertex_of; the places left are empty.
void set_rings(MaskOperands& operands, const std::vector<std::vector<NaiveRing>>& images,
               int64_t places);

}  // namespace lockstep::testing
