// SPDX-License-Identifier: Apache-2.0
// The annotations of a data set in COCO's form, as one immutable table shared by all threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/coco/boxes.h"

namespace lockstep {

using KeypointPairs = std::vector<std::pair<std::size_t, std::size_t>>;

struct CocoCategory {
  int64_t id = 0;  // in the file; a network's class is the index in the table + 1
  std::string name;
  std::vector<std::string> keypoints;  // names
  KeypointPairs swap;                  // keypoints to swap in a mirrored picture
};

struct CocoImage {
  int64_t id = 0;
  std::string file;  // relative to the folder of the pictures
  int64_t height = 0, width = 0;
};

// A mask as lengths of runs, column by column. The first run is empty pixels.
struct RunLengths {
  int64_t height = 0, width = 0;
  std::vector<uint32_t> counts;
  friend bool operator==(const RunLengths&, const RunLengths&) = default;
};

// A range in one of the table's pools.
struct PoolPart {
  uint32_t first = 0, count = 0;
};

struct CocoObject {
  int64_t id = 0;
  int32_t image = 0;     // index in Annotations::images
  int32_t category = 0;  // index in Annotations::categories
  CocoBox bbox{};        // as in the file, not clipped to the image
  double area = 0;       // area of the mask, as in the file
  bool crowd = false;
  bool ignore = false;        // ignored when results are scored
  PoolPart polygons;          // in Annotations::polygons
  int32_t mask = -1;          // index in Annotations::masks, or -1
  PoolPart keypoints;         // in Annotations::keypoints: x, y, visibility for each, or nothing
  int32_t num_keypoints = 0;  // points with a visibility above 0, by the file's own count
};

struct Annotations {
  std::string path;                       // for errors
  std::vector<CocoCategory> categories;   // by ascending id
  std::vector<CocoImage> images;          // in the file's order
  std::vector<CocoObject> objects;        // image by image, in the file's order within each
  std::vector<std::size_t> first_object;  // by image, with one more entry than images
  std::vector<PoolPart> polygons;         // in coordinates
  std::vector<double> coordinates;        // x, y, x, y, ..
  std::vector<RunLengths> masks;
  std::vector<double> keypoints;
  std::vector<double> keypoint_sigmas;  // of each point, for scores; empty: see keypoints.h
  int64_t dropped_polygons = 0;         // polygons of the file with fewer than three points
  bool pascal = false;                  // a data set of Pascal VOC, also scored by its rules

  std::span<const CocoObject> objects_of(std::size_t image) const {
    return {objects.data() + first_object[image], objects.data() + first_object[image + 1]};
  }
  // x, y and visibility of each point.
  std::span<const double> points_of(const CocoObject& object) const {
    return {keypoints.data() + object.keypoints.first, object.keypoints.count};
  }
};

}  // namespace lockstep
