// SPDX-License-Identifier: Apache-2.0
// What report.html shows of a detector: pictures with their objects and detections, and mistakes
// cut out of their pictures.
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
  std::size_t most = 30;  // detections of a picture, the best ones
  bool classes = true;    // false: proposals, which have none
  int64_t side = 640;     // larger pictures are shrunk
};

// `found`: all of the data set's; those of the image are chosen here.
ShownScene shown_scene(const Annotations& truth, std::size_t image,
                       const std::vector<Detection>& found, const Image& picture,
                       const ShownOptions& options = {});
// `found`: the same as where the mistake was found.
ShownMistake shown_mistake(const CocoMistake& mistake, const Annotations& truth,
                           const std::vector<Detection>& found, const Image& picture,
                           const ShownOptions& options = {});

}  // namespace lockstep
