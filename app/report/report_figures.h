// SPDX-License-Identifier: Apache-2.0
// The contents of report.html for a detector: pictures with their objects and detections, and
// mistakes cut out of their pictures.
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
  std::vector<DrawnBox> boxes;  // the detection; the object with a dashed line
  std::string what;             // "disc, is box"
  std::string name;             // of the file
  double score = -1;            // -1: there is no detection
};

struct ShownOptions {
  double least_score = 0.5;
  std::size_t most = 30;  // largest number of detections of a picture
  bool classes = true;    // false for proposals, which have no classes
  int64_t side = 640;     // larger pictures are shrunk
};

// `found` has the detections of the whole data set; only the detections of the image are shown.
ShownScene shown_scene(const Annotations& truth, std::size_t image,
                       const std::vector<Detection>& found, const Image& picture,
                       const ShownOptions& options = {});
// `found` has the detections in which the mistake was found.
ShownMistake shown_mistake(const CocoMistake& mistake, const Annotations& truth,
                           const std::vector<Detection>& found, const Image& picture,
                           const ShownOptions& options = {});

}  // namespace lockstep
