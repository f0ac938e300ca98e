// SPDX-License-Identifier: Apache-2.0
#include "data/coco/read_shapes.h"

#include <cmath>

#include "data/coco/rle.h"

namespace lockstep {
namespace {

using nlohmann::json;

constexpr int64_t kFarthest = 2 * kLargestSide;
constexpr std::size_t kLeastNumbers = 6;         // of a polygon
constexpr std::size_t kMostVertices = 1U << 16;  // of an object

PoolPart append_numbers(std::vector<double>& pool, const std::vector<double>& values) {
  check(pool.size() + values.size() <= 0xFFFFFFFFU, "holds more than ", 0xFFFFFFFFU, " numbers");
  const PoolPart part{static_cast<uint32_t>(pool.size()), static_cast<uint32_t>(values.size())};
  pool.insert(pool.end(), values.begin(), values.end());
  return part;
}

void check_near(const Fields& fields, const char* key, double coordinate) {
  if (std::abs(coordinate) > static_cast<double>(kFarthest))
    fields.refuse("'", key, "' has the coordinate ", coordinate, ", the most is ", kFarthest);
}

uint32_t whole_run(double count) {
  check(count >= 0 && count <= 0xFFFFFFFFU && count == std::floor(count), "a run of ", count,
        " pixels");
  return static_cast<uint32_t>(count);
}

}  // namespace

RunLengths read_run_lengths(const Fields& element, const char* key) {
  const Fields fields = element.part(key);
  const std::vector<double> size = fields.numbers("size", 2);
  for (double side : size)
    if (side < 1 || side > static_cast<double>(kLargestSide) || side != std::floor(side))
      element.refuse("the size of '", key, "' should be whole numbers from 1, is ", size[0], " x ",
                     size[1]);
  RunLengths runs{static_cast<int64_t>(size[0]), static_cast<int64_t>(size[1]), {}};
  const bool is_text = fields.at("counts").is_string();
  const std::vector<double> counts = is_text ? std::vector<double>() : fields.numbers("counts");
  try {
    if (is_text) runs.counts = decode_run_lengths(fields.text("counts"));
    for (double count : counts) runs.counts.push_back(whole_run(count));
    check_run_lengths(runs);
  } catch (const Error& error) {
    element.refuse("'", key, "': ", error.what());
  }
  return runs;
}

void read_segmentation(const Fields& fields, Annotations& table, CocoObject& object) {
  const json& of = fields.at("segmentation");
  if (of.is_object()) {
    object.mask = static_cast<int32_t>(table.masks.size());
    table.masks.push_back(read_run_lengths(fields, "segmentation"));
    return;
  }
  if (!of.is_array())
    fields.refuse("'segmentation' is ", brief(of), ", should be polygons or run lengths");
  object.polygons.first = static_cast<uint32_t>(table.polygons.size());
  std::size_t vertices = 0;
  for (const json& polygon : of) {
    const std::vector<double> points = fields.numbers(polygon, "segmentation");
    if (points.size() < kLeastNumbers) {
      ++table.dropped_polygons;
      continue;
    }
    if (points.size() % 2 != 0)
      fields.refuse("'segmentation' has a polygon of ", points.size(),
                    " numbers, should have two for each point");
    vertices += points.size() / 2;
    if (vertices > kMostVertices)
      fields.refuse("'segmentation' has ", vertices, " points or more, the most is ", kMostVertices,
                    "; use run lengths or simplify the polygons");
    for (double coordinate : points) check_near(fields, "segmentation", coordinate);
    table.polygons.push_back(append_numbers(table.coordinates, points));
    ++object.polygons.count;
  }
}

void read_keypoints(const Fields& fields, Annotations& table, CocoObject& object) {
  const std::vector<double> points = fields.numbers("keypoints");
  if (points.size() % 3 != 0)
    fields.refuse("'keypoints' has ", points.size(), " numbers, should have 3 for each point");
  for (std::size_t i = 0; i < points.size(); i += 3) {
    check_near(fields, "keypoints", points[i]);
    check_near(fields, "keypoints", points[i + 1]);
    const double visibility = points[i + 2];
    if (visibility != 0 && visibility != 1 && visibility != 2)
      fields.refuse("'keypoints' gives point ", i / 3, " the visibility ", visibility,
                    ", should be 0 (not labelled), 1 (hidden) or 2 (visible)");
    object.num_keypoints += visibility > 0;
  }
  object.keypoints = append_numbers(table.keypoints, points);
  if (!fields.has("num_keypoints")) return;
  const int64_t stated = fields.integer("num_keypoints", 0);
  if (stated > static_cast<int64_t>(points.size() / 3))
    fields.refuse("'num_keypoints' is ", stated, ", but 'keypoints' has ", points.size() / 3,
                  " points");
  object.num_keypoints = static_cast<int32_t>(stated);
}

void check_shapes(const Annotations& table, const CocoObject& object) {
  const CocoImage& image = table.images[object.image];
  if (object.mask >= 0) {
    const RunLengths& mask = table.masks[object.mask];
    check(mask.height == image.height && mask.width == image.width, "annotation ", object.id,
          ": 'segmentation' is a mask of ", mask.height, " x ", mask.width, ", but image ",
          image.id, " is ", image.height, " high and ", image.width, " wide");
  }
  const CocoCategory& category = table.categories[object.category];
  const std::size_t points = object.keypoints.count / 3, named = category.keypoints.size();
  check(points == 0 || points == named, "annotation ", object.id, ": 'keypoints' has ", points,
        points == 1 ? " point" : " points", ", but category ", category.id, " (", category.name,
        ") names ", named, " in its 'keypoints'");
}

}  // namespace lockstep
