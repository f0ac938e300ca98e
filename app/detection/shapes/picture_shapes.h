// SPDX-License-Identifier: Apache-2.0
// The outputs of the mask head and of the keypoint head for the boxes of a picture, joined over the
// views of the picture.
#pragma once

#include <array>
#include <vector>

#include "app/detection/shapes/merged_shapes.h"
#include "app/detection/shapes/shape_programs.h"
#include "app/detection/shapes/shape_views.h"

namespace lockstep {

// The boxes of a picture for which the heads run in a view, as the network sees the boxes.
struct BoxesInView {
  std::vector<std::size_t> which;  // places in the picture's list
  std::vector<Corners> boxes;
  std::vector<int64_t> classes;
  std::array<float, 3> extent{};

  ShapeRequest request(const PredictedTensors& maps) const {
    return {&maps, extent, boxes, classes};
  }
};
// The boxes that need the view.
BoxesInView boxes_in(const ShapeViews& rules, const ShapeView& kind, const View& view,
                     const FoundBoxes& boxes);

class PictureShapes {
 public:
  // The arguments must outlive this object.
  PictureShapes(const ShapeViews& rules, const FoundBoxes& boxes);

  void add(const ShapeView& view, const std::vector<std::size_t>& which,
           const HeadOutputs& outputs);
  // The joined outputs of the boxes at places(), a row for each.
  HeadOutputs joined() const;
  // The boxes that get a mask or points.
  const std::vector<std::size_t>& places() const { return places_; }

 private:
  void add_heatmaps(const ShapeView& view, std::size_t box, std::span<const float> heatmaps);

  const ShapeViews& rules_;
  const FoundBoxes& boxes_;
  std::vector<std::size_t> places_;
  std::size_t of_mask_, of_heatmaps_;  // numbers of a box
  MergedShapes masks_, heatmaps_;
};

}  // namespace lockstep
