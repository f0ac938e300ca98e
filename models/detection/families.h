// SPDX-License-Identifier: Apache-2.0
// The values of MODEL.TYPE, after names of whole networks are resolved, and their facts.
#pragma once

#include "graph/listed.h"
#include "models/detection/options.h"

namespace lockstep {

struct DetectorFamily {
  const char* name;
  bool is_dense = false;            // scores anchors: a RetinaNet
  bool scores_by_position = false;  // scores RoIs by position-sensitive maps: R-FCN
  // True if RoIs go through FAST_RCNN.ROI_BOX_HEAD.
  bool has_roi_head() const { return !is_dense && !scores_by_position; }
};
inline constexpr DetectorFamily kDetectorFamilies[] = {
    {.name = "generalized_rcnn"},
    {.name = "retinanet", .is_dense = true},
    {.name = "rfcn", .scores_by_position = true}};

// Null for an unknown name.
inline const DetectorFamily* family_of(const DetectorOptions& options) {
  return row_named(kDetectorFamilies, options.model.type);
}

}  // namespace lockstep
