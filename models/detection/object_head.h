// SPDX-License-Identifier: Apache-2.0
// The common start of the heads of masks and keypoints: pooled RoIs, or their features after stage
// 5 of a ResNet.
#pragma once

#include <string>

#include "models/detection/catalogue.h"
#include "models/detection/object_rois.h"
#include "models/detection/pooled_rois.h"

namespace lockstep {

class ObjectHead {
 protected:
  // `own` are the keys MRCNN or KRCNN, `head` is the head that they name. `prefix` begins the names
  // of its values. The arguments must outlive this object.
  template <class HeadOptions, class HeadFunction>
  ObjectHead(Net& net, const DetectorOptions& options, const ObjectRois& rois,
             const HeadOptions& own, const HeadFunction& head, const char* prefix)
      : net_(net),
        graph_(net.graph),
        options_(options),
        rois_(rois),
        pooling_{own.roi_xform_method, own.roi_xform_resolution, own.roi_xform_sampling_ratio},
        dilation_(own.dilation),
        is_stage_5_(head.is_stage_5),
        prefix_(prefix) {}

  Feature pooled(const Features& features) const;
  // The features that the head's own layers read, [I N, C, ..].
  Value features_of_rois(const ResidualBody& body, const Features& features) const;

  Net& net_;
  Graph& graph_;
  const DetectorOptions& options_;
  const ObjectRois& rois_;
  const RoiPooling pooling_;
  const int64_t dilation_;
  const bool is_stage_5_;
  const std::string prefix_;
};

}  // namespace lockstep
