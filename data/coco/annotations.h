// SPDX-License-Identifier: Apache-2.0
// The annotations of a data set in COCO's form: one immutable table that all threads share.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/coco/boxes.h"

namespace lockstep {

struct CocoCategory {
  int64_t id = 0;  // in the file; a network's class is the place in the table, plus 1
  std::string name;
  std::vector<std::string> keypoints;                     // their names
  std::vector<std::pair<std::size_t, std::size_t>> swap;  // keypoints that a mirrored picture swaps
};

struct CocoImage {
  int64_t id = 0;
  std::string file;  // relative to the folder of the pictures
  int64_t height = 0, width = 0;
};

// A mask as lengths of runs in columns, the first of which is empty pixels.
struct RunLengths {
  int64_t height = 0, width = 0;
  std::vector<uint32_t> counts;
};

// A part of one of the table's pools.
struct PoolPart {
  uint32_t first = 0, count = 0;
};

struct CocoObject {
  int64_t id = 0;
  int32_t image = 0;     // place in Annotations::images
  int32_t category = 0;  // place in Annotations::categories
  CocoBox bbox{};        // as the file gives it, not cut to the image
  double area = 0;       // of the mask, as the file gives it
  bool crowd = false;
  bool ignore = false;  // neither found nor missed when results are scored
  PoolPart polygons;    // in Annotations::polygons
  int32_t mask = -1;    // place in Annotations::masks, or -1
  PoolPart keypoints;   // in Annotations::keypoints: x, y, visibility for each
};

struct Annotations {
  std::string path;                       // for errors
  std::vector<CocoCategory> categories;   // by ascending id
  std::vector<CocoImage> images;          // in the file's order
  std::vector<CocoObject> objects;        // image by image, in the file's order within each
  std::vector<std::size_t> first_object;  // of each image; one more entry than images
  std::vector<PoolPart> polygons;         // in coordinates
  std::vector<float> coordinates;         // x, y, x, y, ..
  std::vector<RunLengths> masks;
  std::vector<float> keypoints;
  int64_t dropped_polygons = 0;  // of the file; they have fewer than three points

  std::span<const CocoObject> objects_of(std::size_t image) const {
    return {objects.data() + first_object[image], objects.data() + first_object[image + 1]};
  }
};

}  // namespace lockstep
