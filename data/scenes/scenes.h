// SPDX-License-Identifier: Apache-2.0
// Generated pictures to detect objects in: discs, boxes, triangles and arrows on textured ground,
// with noise. Needs no download. Every box, polygon and keypoint is exact.
#pragma once

#include <cstdint>

#include "data/coco/annotations.h"
#include "data/image.h"

namespace lockstep {

struct SceneOptions {
  uint64_t seed = 1;
  int64_t count = 1000;
  bool held_out = false;  // scenes that differ from training scenes
  double noise = 20;      // standard deviation, in levels from 0 to 255
};

class Scenes {
 public:
  static constexpr int64_t kSide = 128;  // side of a picture, in pixels

  // Places the objects of all scenes. Pictures are drawn on demand. The seed determines every
  // pixel.
  explicit Scenes(const SceneOptions& options);

  // Image n is scene n, with a file name such as 000000.jpg.
  const Annotations& annotations() const { return annotations_; }
  Image picture(std::size_t scene) const;  // thread-safe

 private:
  SceneOptions options_;
  Annotations annotations_;
};

}  // namespace lockstep
