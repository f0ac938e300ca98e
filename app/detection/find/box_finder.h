// SPDX-License-Identifier: Apache-2.0
// Finds boxes in pictures with a detector's current parameters, in several pictures at once, and
// their masks and points, if the detector predicts them.
#pragma once

#include <optional>
#include <vector>

#include "app/detection/datasets/keypoint_rules.h"
#include "app/detection/find/found_boxes.h"
#include "app/detection/find/picture_programs.h"
#include "app/detection/shapes/shape_finder.h"

namespace lockstep {

class BoxFinder {
 public:
  // The session's model is the configuration's step for pictures of any size, or a process's part
  // of the step. Each process finds boxes in its own pictures. `points` are for a network with a
  // keypoint head. `config` and `session` must outlive this object.
  BoxFinder(const DetectorConfig& config, Session& session, KeypointRules points = {});

  // Returns the boxes in the order of the list. DATA_LOADER.NUM_THREADS threads read pictures
  // ahead, each padded to its own size; as many draw masks and points while the network goes on.
  // With TEST.BBOX_AUG, MASK_AUG and KPS_AUG, sees each picture in several views and merges what it
  // finds in them. Uses the memory of Session::step() and overwrites its results.
  std::vector<FoundBoxes> find(const PictureList& pictures);

  std::size_t networks_kept() const { return programs_.kept(); }

 private:
  void find_boxes(const PictureList& pictures, std::vector<FoundBoxes>& found, ShapeDrawer* drawer);
  void find_results(const PictureList& pictures, std::vector<FoundBoxes>& found,
                    ShapeDrawer* drawer);
  void find_in_views(const PictureList& pictures, std::size_t first, std::size_t last,
                     std::vector<FoundBoxes>& found);

  const DetectorConfig& config_;
  Session& session_;
  std::vector<ViewRules> views_;
  PicturePrograms programs_;
  std::optional<ShapeFinder> shapes_;  // of a network with a mask head or a keypoint head
};

}  // namespace lockstep
