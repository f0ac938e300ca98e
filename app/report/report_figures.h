// SPDX-License-Identifier: Apache-2.0
// The contents of report.html for a detector: pictures with their objects and detections, and
// mistakes cut out of their pictures. Objects and detections are shown with the masks and keypoints
// that the detector finds.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/draw/framing.h"
#include "data/coco/mistakes.h"

namespace lockstep {

struct ShownScene {
  Image image;
  std::vector<DrawnBox> truth, found;
  std::string name;  // of the file
};

struct ShownMistake {
  Image image;
  std::vector<DrawnBox> boxes;  // the detection; the object with dashed lines
  std::string what;             // "disc, is box"
  std::string name;             // of the file
  double score = -1;            // -1: there is no detection
};

struct ShownOptions {
  double least_score = 0.5;
  std::size_t most = 30;                  // largest number of detections of a picture
  bool classes = true;                    // false for proposals, which have no classes
  int64_t side = 640;                     // larger pictures are shrunk
  bool masks = false, keypoints = false;  // of objects: the detector finds them
};

// The detections of the whole data set, with their masks and keypoints, or none.
struct ShownDetections {
  std::vector<Detection> boxes;
  FoundShapes shapes = {};
};

// Only the detections of the image are shown.
ShownScene shown_scene(const Annotations& truth, std::size_t image, const ShownDetections& found,
                       const Image& picture, const ShownOptions& options = {});
// `found` has the detections in which the mistake was found.
ShownMistake shown_mistake(const CocoMistake& mistake, const Annotations& truth,
                           const ShownDetections& found, const Image& picture,
                           const ShownOptions& options = {});

}  // namespace lockstep
