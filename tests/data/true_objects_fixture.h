// SPDX-License-Identifier: Apache-2.0
// Pictures with outlines and points, and options of minibatches that have both.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "data/coco/masks.h"
#include "data/detection/batches.h"

namespace lockstep::testing {

inline constexpr int64_t kVertices = 300, kPoints = 5;

// Grey pictures of a table.
class GreyPictures final : public PictureSet {
 public:
  explicit GreyPictures(Annotations table) : table_(std::move(table)) {}
  const Annotations& annotations() const override { return table_; }
  Image picture(std::size_t number) const override {
    const CocoImage& image = table_.images[number];
    return {image.height, image.width,
            std::vector<uint8_t>(static_cast<std::size_t>(3 * image.height * image.width), 90)};
  }

 private:
  Annotations table_;
};

inline DetectionBatchOptions with_shapes() {
  DetectionBatchOptions options;
  options.batch = 4;
  options.scales = {96};
  options.longest = 200;
  options.places = 12;
  options.vertices = kVertices;
  options.seed = 3;
  return options;
}

// Three objects in a picture 20 high and 30 wide: a frame around an island as run lengths, two
// polygons that overlap, and an object without an outline.
inline Annotations frames_and_polygons() {
  Annotations table;
  table.path = "made.json";
  table.categories = {{1, "thing", {}, {}}};
  table.images = {{7, "a.png", 20, 30}};
  std::vector<uint8_t> bitmap(20 * 30);
  for (int64_t y = 2; y < 17; ++y)
    for (int64_t x = 3; x < 18; ++x) {
      const int64_t inwards = std::min({y - 2, x - 3, 16 - y, 17 - x});
      bitmap[static_cast<std::size_t>(y * 30 + x)] = inwards < 3 || inwards > 5;
    }
  table.masks.push_back(mask_of_bitmap(bitmap, 20, 30));
  table.coordinates = {20, 4, 28.5, 4, 28.5, 9.25, 20, 9, 22, 7, 26, 7, 24, 18.75};
  table.polygons = {{0, 8}, {8, 6}};
  CocoObject frame, polygons, box;
  frame.bbox = {3, 2, 15, 15};
  frame.mask = 0;
  polygons.bbox = {20, 4, 8.5, 14.75};
  polygons.polygons = {0, 2};
  box.bbox = {1, 1, 5, 5};
  table.objects = {frame, polygons, box};
  for (CocoObject& object : table.objects) {
    object.id = 10 + (&object - table.objects.data());
    object.area = 25;
  }
  table.first_object = {0, 3};
  return table;
}

}  // namespace lockstep::testing
