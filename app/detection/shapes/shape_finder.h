// SPDX-License-Identifier: Apache-2.0
// Finds the masks and the points of boxes that a detector has found in pictures.
#pragma once

#include <span>
#include <vector>

#include "app/detection/find/picture_programs.h"
#include "app/detection/shapes/picture_shapes.h"
#include "app/detection/shapes/shape_drawer.h"

namespace lockstep {

class ShapeFinder {
 public:
  // For a network with a mask head or a keypoint head. `config` and `session` must outlive this
  // object. Keeps up to `most` networks for each view.
  ShapeFinder(const DetectorConfig& config, Session& session, KeypointRules points,
              std::size_t most);

  const ShapeViews& views() const { return views_; }
  std::size_t networks_made() const { return maps_.made(); }  // of feature maps

  // Finds the shapes of the boxes of a round's pictures in the round's results, which have feature
  // maps. Only if one view serves for everything (ShapeViews::one_view_for_all()).
  void find_on_maps(const PictureRounds& rounds, int64_t round,
                    const std::vector<PredictedTensors>& results, const PictureList& pictures,
                    std::vector<FoundBoxes>& found, ShapeDrawer& drawer);
  // Sees all pictures with boxes again, in the views of TEST.MASK_AUG and TEST.KPS_AUG. Pictures of
  // equal padded sizes are seen together, whatever their order in the list.
  void find_in_views(const PictureList& pictures, std::vector<FoundBoxes>& found,
                     ShapeDrawer& drawer);

 private:
  std::vector<std::size_t> by_padded_size(const PictureList& pictures) const;
  void see(const PictureList& pictures, std::span<const std::size_t> chosen,
           std::vector<FoundBoxes>& found, ShapeDrawer& drawer);
  std::vector<HeadOutputs> outputs_for(const PictureSize& padded,
                                       const std::vector<const BoxesInView*>& boxes,
                                       const std::vector<PredictedTensors>& maps);

  Session& session_;
  ShapeViews views_;
  PicturePrograms maps_;
  ShapePrograms heads_;
};

}  // namespace lockstep
