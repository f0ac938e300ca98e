// SPDX-License-Identifier: Apache-2.0
// Generated pictures to detect objects in: discs, boxes, triangles and arrows on textured ground,
// with noise. There is nothing to download, and every box, polygon and keypoint is exact.
#pragma once

#include <cstdint>

#include "data/coco/annotations.h"
#include "data/image.h"

namespace lockstep {

struct SceneOptions {
  uint64_t seed = 1;
  int64_t count = 1000;
  bool held_out = false;  // other scenes than those for training
  double noise = 20;      // standard deviation, of 255 levels
};

class Scenes {
 public:
  static constexpr int64_t kSide = 128;  // of a picture, in pixels

  // Places all objects at once; pictures are drawn on demand. The seed decides every pixel.
  explicit Scenes(const SceneOptions& options);

  // Image n is scene n; its file would be called 000000.jpg and so on.
  const Annotations& annotations() const { return annotations_; }
  Image picture(std::size_t scene) const;  // thread-safe

 private:
  SceneOptions options_;
  Annotations annotations_;
};

}  // namespace lockstep
