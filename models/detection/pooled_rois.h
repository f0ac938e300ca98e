// SPDX-License-Identifier: Apache-2.0
// Pools RoIs from a feature map or from the levels of a pyramid.
#pragma once

#include <string>

#include "builders/detection/coordinates.h"
#include "models/detection/features.h"
#include "models/detection/options.h"

namespace lockstep {

// The pooling of a head's RoIs, from FAST_RCNN, MRCNN or KRCNN.
struct RoiPooling {
  std::string method;  // RoIAlign or RoIPoolF
  int64_t resolution = 7;
  int64_t sampling_ratio = 0;
};
// Pools rois [I, R, 4] to [I R, C, resolution, resolution].
Feature pooled_rois(Net& net, const DetectorOptions& options, const Features& features,
                    PictureBoxes rois, Value im_info, const RoiPooling& pooling,
                    const std::string& name);

// RoIs [I, R, 4] of all images in one list.
struct ListedRois {
  InputBoxes boxes;   // [I, R, 4]
  Value last_pixels;  // [I R, 4]: x2 and y2 are inclusive
  Value images;       // [I R], int64
};
ListedRois listed_rois(Graph& graph, PictureBoxes rois, Value im_info, const std::string& name);

// The level of each RoI [n, 4], counted from ROI_MIN_LEVEL. Larger RoIs have coarser levels.
Value roi_levels(Graph& graph, const FpnOptions& fpn, InputBoxes rois, const std::string& name);

}  // namespace lockstep
