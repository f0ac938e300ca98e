// SPDX-License-Identifier: Apache-2.0
// Training targets of detectors: the anchors and proposals that count in a loss, with their labels
// and box deltas, masks and points. A box is [x1, y1, x2, y2], half-open.
//
// True boxes have a fixed number of slots: gt_boxes [I, G, 4], gt_classes [I, G] of int64 (0 for an
// empty slot), gt_crowd [I, G] of int64 (1 for a crowd region). image_number [I] of int64
// identifies the image in random draws, so that samples do not depend on the replica that has the
// image.
#pragma once

#include <vector>

#include "lockstep/graph.h"
#include "lockstep/kernel.h"
#include "lockstep/op.h"

namespace lockstep {

struct TrueBoxes {
  Value boxes, classes, crowd;
};

// Outlines and points of the true boxes' objects, in picture coordinates.
//
// A ring is a closed polygon; its vertices have consecutive places, in order. Rings 0, 2, 4, .. of
// an object set the pixels inside, rings 1, 3, 5, .. are holes and clear them. The rings of an
// object are drawn in the order of their places.
struct TrueShapes {
  Value vertices;   // [I, V, 2]: x, y
  Value vertex_of;  // [I, V, 2] of int64: the object's row of gt_boxes, and the ring; -1, -1 in
                    // empty places
  Value keypoints;  // [I, G, K, 3]: x, y and visibility (0: none, 1: hidden, 2: visible)
};

// Anchors of one level of a pyramid. Anchor a of cell (y, x) is base box a plus the stride times
// (x, y, x, y). Its index is (a * height + y) * width + x.
struct AnchorLevel {
  std::vector<float> anchors;  // base boxes, four numbers each
  int64_t stride = 16;
  int64_t height = 0, width = 0;  // cells
};
int64_t anchors_of(const AnchorLevel& level);

struct AnchorTargetsAttrs {
  std::vector<AnchorLevel> levels;  // all with the same number of anchors per cell
  float positive_overlap = 0.7F;
  float negative_overlap = 0.3F;
  float straddle = 0;  // pixels by which an anchor may leave its image; -1: any number
  // The number of anchors of an image, over all levels, that count; at most `foreground` of them
  // belong to objects. sample = 0: every anchor counts.
  int64_t sample = 256;
  int64_t foreground = 128;
};

// gt boxes in input coordinates; im_info [I, 3]: height, width and scale of each image.
struct SampledAnchors {  // of one level, foreground first, then by index
  Value places;          // [I, sample] of int64; -1 in empty slots
  Value labels;          // [I, sample] of int64: 1, 0, or -1 in empty slots
  Value targets;         // [I, sample, 4]: zeros except for label 1
};
std::vector<SampledAnchors> sampled_anchor_targets(Graph& graph, const TrueBoxes& truth,
                                                   Value im_info, Value image_number,
                                                   const AnchorTargetsAttrs& attrs,
                                                   const Site& site = {});

struct AllAnchors {  // of one level
  Value labels;      // [I, A, height, width] of int64: the class, 0 for background, -1 for neither
  Value targets;     // [I, A * 4, height, width]: zeros except for objects
};
struct DenseAnchorTargets {
  std::vector<AllAnchors> levels;
  Value counts;  // [2] of int64: anchors of objects and of background, over all images
};
DenseAnchorTargets dense_anchor_targets(Graph& graph, const TrueBoxes& truth, Value im_info,
                                        Value image_number, const AnchorTargetsAttrs& attrs,
                                        const Site& site = {});

struct ProposalTargetsAttrs {
  int64_t sample = 512;      // RoIs of an image
  int64_t foreground = 128;  // limit on the RoIs that are objects
  float foreground_overlap = 0.5F;
  float background_high = 0.5F;  // background: best IoU in [low, high)
  float background_low = 0;
  float crowd_overlap = 0.7F;  // a proposal with a larger fraction of its area in a crowd region is
                               // neither foreground nor background
  std::vector<float> weights = {10, 10, 5, 5};  // of the deltas
  // The smallest best IoU of a RoI whose box is learnt, of background RoIs, too. 0: the boxes of
  // all objects, and only these, are learnt.
  float box_overlap = 0;
};
struct SampledProposals {
  Value rois;     // [I, sample, 4], foreground first; zeros in empty slots
  Value labels;   // [I, sample] of int64; 0 for background, -1 in empty slots
  Value targets;  // [I, sample, 4]: zeros except for objects, or for box_labels above 0
  Value matches;  // [I, sample] of int64: the row of the object, -1 if there is none
  // [I, sample] of int64: the class whose box is learnt, 0 if none is. `none` if box_overlap is 0.
  Value box_labels;
};
// proposals [I, P, 4] and true boxes in picture coordinates. sources [I, P] of int64 identifies
// each proposal in random draws; -1 marks an empty slot. True boxes are candidates, too, except
// crowd regions.
SampledProposals proposal_targets(Graph& graph, Value proposals, Value sources,
                                  const TrueBoxes& truth, Value image_number,
                                  const ProposalTargetsAttrs& attrs, const Site& site = {});

struct MaskTargetsAttrs {
  int64_t resolution = 28;  // M
};
// The mask of each RoI's object, in the frame of the RoI: [I, F, M, M] of int64, 1 inside the
// object, 0 outside, -1 if it does not count. rois [I, F, 4] in picture coordinates; matches [I, F]
// of int64: the row of the object, or -1. A RoI without an object or an area does not count.
// Neither does an object without rings, or with a vertex that is not finite.
Value mask_targets(Graph& graph, Value rois, Value matches, const TrueShapes& shapes,
                   const MaskTargetsAttrs& attrs, const Site& site = {});

struct KeypointTargetsAttrs {
  int64_t size = 56;  // S
};
// The cell of each point in a heatmap of S x S cells over its RoI: [I, F, K] of int64, y S + x, or
// -1 for points without visibility, points outside the RoI, and RoIs without an object or an area.
Value keypoint_targets(Graph& graph, Value rois, Value matches, const TrueShapes& shapes,
                       const KeypointTargetsAttrs& attrs, const Site& site = {});

std::vector<Op> targets_ops();
std::vector<KernelEntry> targets_cpu();

}  // namespace lockstep
