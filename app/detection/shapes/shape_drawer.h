// SPDX-License-Identifier: Apache-2.0
// Turns the outputs of the mask head and of the keypoint head into masks and points of pictures, on
// separate threads: a picture may have a hundred masks, and each is an enlarged image.
#pragma once

#include "app/detection/datasets/keypoint_rules.h"
#include "app/detection/find/found_boxes.h"
#include "app/detection/shapes/background_tasks.h"
#include "app/detection/shapes/shape_programs.h"

namespace lockstep {

class ShapeDrawer {
 public:
  // Starts DATA_LOADER.NUM_THREADS threads. The arguments must outlive this object.
  ShapeDrawer(const DetectorConfig& config, const KeypointRules& points);

  // Gives the boxes at the places `which` their masks and points. `outputs` has a row for each of
  // these places. `boxes` must stay where they are, and nobody may read them, until finish().
  void draw(std::size_t picture, const PictureSize& size, FoundBoxes& boxes,
            std::vector<std::size_t> which, HeadOutputs outputs);
  // Returns when all boxes have their masks and points. Throws if an output is not finite.
  void finish() { tasks_.wait(); }

 private:
  struct Job;
  void draw_box(const Job& job, std::size_t row) const;

  const DetectorConfig& config_;
  const KeypointRules& points_;
  BackgroundTasks tasks_;
};

}  // namespace lockstep
