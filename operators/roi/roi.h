// SPDX-License-Identifier: Apache-2.0
// Pooling of regions of interest (RoIs) from feature maps. A box is [x1, y1, x2, y2], half-open, in
// the coordinates of the input; `spatial_scale` converts them to the feature map's coordinates. No
// gradient flows to boxes, images and levels.
#pragma once

#include <vector>

#include "lockstep/graph.h"
#include "lockstep/kernel.h"
#include "lockstep/op.h"

namespace lockstep {

struct RoiAlignAttrs {
  int64_t height = 7, width = 7;  // of the output
  int64_t sampling_ratio = 0;     // points of a bin along each side; 0: as many as the bin has
                                  // pixels
  bool half_pixel = false;        // subtracts half a pixel from scaled coordinates
  bool max = false;               // the maximum of a bin's points instead of their mean
};
// Reads the attributes of forward operators and their gradients, except the scales.
RoiAlignAttrs read_roi_align(AttributeReader& attributes);

// x [I, C, H, W], rois [n, 4], images [n] of int64 -> [n, C, height, width]
Value roi_align(Graph& graph, Value x, Value rois, Value images, float spatial_scale,
                const RoiAlignAttrs& attrs, const Site& site = {});

// ONNX's MaxRoiPool. rois [n, 5] begin with the image; x2 and y2 are inclusive.
Value max_roi_pool(Graph& graph, Value x, Value rois, int64_t height, int64_t width,
                   float spatial_scale, const Site& site = {});

// Pools RoIs of all levels of a feature pyramid in one node. RoI i is pooled from
// features[levels[i]]; level -1 gives zeros. levels [n] of int64; mean only.
Value multilevel_roi_align(Graph& graph, const std::vector<Value>& features, Value rois,
                           Value images, Value levels, const std::vector<float>& spatial_scales,
                           const RoiAlignAttrs& attrs, const Site& site = {});

struct PositionAttrs {
  int64_t grid = 1;  // bins along each side of a RoI
  float scale = 1;
};
// Caffe2's PSRoIPool: bin (i, j) of channel c is the mean of whole cells of channel
// (c grid + i) grid + j of x. x2 and y2 are inclusive. x [I, C grid grid, H, W], rois [n, 4],
// images [n] of int64 -> [n, C, grid, grid]
Value position_pool(Graph& graph, Value x, Value rois, Value images, const PositionAttrs& attrs,
                    const Site& site = {});

std::vector<Op> roi_ops();
std::vector<KernelEntry> roi_cpu();
std::vector<KernelEntry> roi_cuda();

}  // namespace lockstep
