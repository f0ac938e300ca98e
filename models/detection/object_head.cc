// SPDX-License-Identifier: Apache-2.0
#include "models/detection/object_head.h"

namespace lockstep {

Feature ObjectHead::pooled(const Features& features) const {
  return pooled_rois(net_, options_, features, rois_.boxes, rois_.im_info, pooling_,
                     prefix_ + (is_stage_5_ ? "pool5" : "roi_feat"));
}

Value ObjectHead::features_of_rois(const ResidualBody& body, const Features& features) const {
  const Feature in = pooled(features);
  if (!is_stage_5_) return in.x;
  return ResidualHead(net_, options_, body, prefix_).sums(in, pooling_.resolution, dilation_).x;
}

}  // namespace lockstep
