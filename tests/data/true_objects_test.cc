// SPDX-License-Identifier: Apache-2.0
// Outlines and points of minibatches: of polygons and run lengths, mirrored and jittered, for any
// number of processes and threads.
#include "data/detection/true_objects.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "data/coco/masks.h"
#include "data/detection/rings_of.h"
#include "lockstep/attributes.h"
#include "tests/data/true_objects_fixture.h"

namespace lockstep::testing {
namespace {

// The tensors of a step, by name.
class FedStep {
 public:
  FedStep(const DetectionBatches& batches, int64_t step) {
    std::vector<Tensor> tensors;
    const MinibatchForm& form = batches.forms()[batches.form(step)];
    for (const NamedDesc& each : form)
      values_.emplace(each.name, Literal(each.desc.dtype, each.desc.dims));
    for (const NamedDesc& each : form) tensors.push_back(view_of(values_.at(each.name)));
    for (int64_t item = 0; item < batches.items(); ++item) batches.read(step, item, tensors);
  }
  const Literal& operator[](const std::string& name) const { return values_.at(name); }
  bool has(const std::string& name) const { return values_.count(name) > 0; }

  template <class T>
  std::span<const T> row(const std::string& name, std::size_t item) const {
    const Literal& all = values_.at(name);
    const auto count = static_cast<std::size_t>(all.count() / all.dims()[0]);
    return all.values<T>().subspan(item * count, count);
  }
  std::size_t picture(std::size_t item) const {
    return static_cast<std::size_t>(row<int64_t>("image_number", item)[0]);
  }
  // The rings of an object.
  Rings rings(std::size_t item, int64_t object) const {
    const auto xy = row<float>("gt_vertices", item);
    const auto of = row<int64_t>("gt_vertex_of", item);
    Rings rings;
    for (std::size_t v = 0; v < of.size() / 2; ++v) {
      if (of[2 * v] != object) continue;
      rings.xy.insert(rings.xy.end(), {xy[2 * v], xy[2 * v + 1]});
      rings.ring_of.push_back(of[2 * v + 1]);
    }
    return rings;
  }

 private:
  std::map<std::string, Literal> values_;
};

std::vector<TrainingBox> boxes_of(const Annotations& table, std::size_t picture) {
  LeftOut ignored;
  return training_boxes(table, picture, -1, ignored);
}

TEST(TrueObjects, HaveTheirPolygonsInTheOrderOfBoxes) {
  const ScenePictures scenes({.count = 40});
  const Annotations& table = scenes.annotations();
  const DetectionBatches batches(scenes, with_shapes());
  int mirrored = 0, crowds = 0;
  for (int64_t step = 0; step < 16; ++step) {
    const FedStep fed(batches, step);
    EXPECT_FALSE(fed.has("gt_keypoints"));
    for (std::size_t item = 0; item < 4; ++item) {
      const bool turned = batches.order().step(step).pictures[item].mirrored;
      mirrored += turned;
      std::vector<float> vertices;
      std::vector<int64_t> of;
      const std::vector<TrainingBox> boxes = boxes_of(table, fed.picture(item));
      for (std::size_t i = 0; i < boxes.size(); ++i) {
        crowds += boxes[i].crowd;
        if (boxes[i].crowd) continue;
        const CocoObject& object = table.objects[boxes[i].object];
        const PoolPart part = table.polygons[object.polygons.first];
        for (uint32_t v = 0; v < part.count; v += 2) {
          const double x = table.coordinates[part.first + v];
          vertices.push_back(static_cast<float>(turned ? 128 - x : x));
          vertices.push_back(static_cast<float>(table.coordinates[part.first + v + 1]));
          of.insert(of.end(), {static_cast<int64_t>(i), 0});
        }
      }
      EXPECT_EQ(vertices_of(table, boxes), static_cast<int64_t>(of.size() / 2));
      vertices.resize(2 * kVertices, 0);
      of.resize(2 * kVertices, -1);
      EXPECT_TRUE(std::ranges::equal(fed.row<float>("gt_vertices", item), vertices)) << step;
      EXPECT_TRUE(std::ranges::equal(fed.row<int64_t>("gt_vertex_of", item), of)) << step;
    }
  }
  EXPECT_GT(mirrored, 10);
  EXPECT_GT(crowds, 0) << "which have no vertices";
}

TEST(TrueObjects, KeepHolesIslandsAndSeveralPolygons) {
  const GreyPictures pictures(frames_and_polygons());
  const Annotations& table = pictures.annotations();
  DetectionBatchOptions options = with_shapes();
  options.batch = 1;
  options.scales = {20};
  const DetectionBatches batches(pictures, options);
  EXPECT_NE(batches.text().find("1 objects without an outline, whose masks are not learnt"),
            std::string::npos)
      << batches.text();
  int ways = 0;
  for (int64_t step = 0; step < 2; ++step) {
    const bool turned = batches.order().step(step).pictures[0].mirrored;
    ways |= turned ? 1 : 2;
    const FedStep fed(batches, step);
    const Rings frame = fed.rings(0, 0), polygons = fed.rings(0, 1);
    std::vector<int64_t> numbers = frame.ring_of;
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    EXPECT_EQ(numbers, (std::vector<int64_t>{0, 1, 2})) << "the frame, its hole, the island";
    const RunLengths& mask = table.masks[0];
    EXPECT_EQ(mask_of(frame, 20, 30).counts, (turned ? mirrored(mask) : mask).counts);
    EXPECT_EQ(polygons.ring_of, (std::vector<int64_t>{0, 0, 0, 0, 2, 2, 2}));
    for (std::size_t i = 0; i < table.coordinates.size(); i += 2) {
      const double x = table.coordinates[i];
      EXPECT_EQ(polygons.xy[i], turned ? 30 - x : x);
      EXPECT_EQ(polygons.xy[i + 1], table.coordinates[i + 1]);
    }
    EXPECT_EQ(fed.rings(0, 2).vertices(), 0U);
    EXPECT_EQ(fed.row<int64_t>("gt_classes", 0)[2], 1) << "its box is learnt";
  }
  EXPECT_EQ(ways, 3);
}

// An object's box is the bounding box of its outline, so both are cut alike. A vertex beyond the
// crop keeps its place; an arrow's points are corners of its outline.
TEST(TrueObjects, FollowAJitteredPicture) {
  const ScenePictures scenes({.count = 40});
  DetectionBatchOptions options = with_shapes();
  options.keypoints = kPoints;
  options.jitter = {{96, 160}, 0.3, 2};
  const DetectionBatches batches(scenes, options);
  int beyond = 0, points_cut = 0, points = 0, boxes = 0;
  for (int64_t step = 0; step < 25; ++step) {
    const FedStep fed(batches, step);
    for (std::size_t item = 0; item < 4; ++item) {
      const auto info = fed.row<float>("im_info", item), corners = fed.row<float>("gt_boxes", item);
      const auto classes = fed.row<int64_t>("gt_classes", item);
      const auto crowd = fed.row<int64_t>("gt_crowd", item);
      const auto all = fed.row<float>("gt_keypoints", item);
      const std::array<float, 2> most{info[1] / info[2], info[0] / info[2]};
      for (std::size_t i = 0; i < 12; ++i) {
        const Rings rings = fed.rings(item, static_cast<int64_t>(i));
        const auto own = all.subspan(i * 3 * kPoints, 3 * kPoints);
        if (classes[i] == 0 || crowd[i] == 1) {
          EXPECT_EQ(rings.vertices(), 0U);
          EXPECT_TRUE(std::ranges::all_of(own, [](float number) { return number == 0; }));
          continue;
        }
        ++boxes;
        for (std::size_t axis : {0, 1}) {
          double least = 1e9, greatest = -1e9;
          for (std::size_t v = axis; v < rings.xy.size(); v += 2) {
            least = std::min(least, rings.xy[v]);
            greatest = std::max(greatest, rings.xy[v]);
          }
          beyond += least < -1 || greatest > most[axis] + 1;
          EXPECT_NEAR(std::max(least, 0.0), corners[4 * i + axis], 1e-3);
          EXPECT_NEAR(std::min<double>(greatest, most[axis]), corners[4 * i + axis + 2], 1e-3);
        }
        for (std::size_t k = 0; k < 3 * kPoints; k += 3) {
          points_cut += classes[i] == 4 && own[k + 2] == 0;
          if (own[k + 2] == 0) continue;
          ++points;
          const float x = own[k] + 0.5F, y = own[k + 1] + 0.5F;  // the corner of a pixel is 0
          EXPECT_TRUE(x >= 0 && x <= most[0] && y >= 0 && y <= most[1]);
          bool found = false;
          for (std::size_t v = 0; v < rings.xy.size(); v += 2)
            found |= std::abs(rings.xy[v] - x) < 1e-4 && std::abs(rings.xy[v + 1] - y) < 1e-4;
          EXPECT_TRUE(found) << "point " << k / 3;
        }
      }
    }
  }
  EXPECT_GT(boxes, 100);
  EXPECT_GT(beyond, 20);
  EXPECT_GT(points, 100);
  EXPECT_GT(points_cut, 5);
}

TEST(TrueObjects, SwapTheirKeypointsInAMirroredPicture) {
  const ScenePictures scenes({.count = 40});
  const Annotations& table = scenes.annotations();
  DetectionBatchOptions options = with_shapes();
  options.vertices = 0;
  options.keypoints = kPoints;
  const DetectionBatches batches(scenes, options);
  const std::array<std::size_t, 5> swapped{0, 2, 1, 4, 3};
  int mirrored = 0, hidden = 0;
  for (int64_t step = 0; step < 16; ++step) {
    const FedStep fed(batches, step);
    EXPECT_FALSE(fed.has("gt_vertices"));
    for (std::size_t item = 0; item < 4; ++item) {
      const bool turned = batches.order().step(step).pictures[item].mirrored;
      const std::vector<TrainingBox> boxes = boxes_of(table, fed.picture(item));
      std::vector<float> wanted(12 * 3 * kPoints);
      for (std::size_t i = 0; i < boxes.size(); ++i) {
        const auto points = table.points_of(table.objects[boxes[i].object]);
        for (std::size_t k = 0; k < points.size() / 3; ++k) {
          float* to = &wanted[3 * (i * kPoints + (turned ? swapped[k] : k))];
          to[0] = static_cast<float>(turned ? 127 - points[3 * k] : points[3 * k]);
          to[1] = static_cast<float>(points[3 * k + 1]);
          to[2] = static_cast<float>(points[3 * k + 2]);
          mirrored += turned;
          hidden += to[2] == 1;
        }
      }
      const auto points = fed.row<float>("gt_keypoints", item);
      ASSERT_EQ(points.size(), wanted.size());
      for (std::size_t i = 0; i < wanted.size(); ++i)
        EXPECT_NEAR(points[i], wanted[i], 1e-5) << step;
    }
  }
  EXPECT_GT(mirrored, 100);
  EXPECT_GT(hidden, 0);
}

// A step depends neither on the process that reads a picture nor on the number of threads.
TEST(TrueObjects, AreTheSameForProcessesAndThreads) {
  const ScenePictures scenes({.count = 30});
  for (const bool jittered : {false, true}) {
    DetectionBatchOptions options = with_shapes();
    options.keypoints = kPoints;
    if (jittered) options.jitter = {{96, 160}, 0.3, 2};
    const DetectionBatches whole(scenes, options);
    DetectionBatchOptions half = options;
    half.first = 2;
    const DetectionBatches second(scenes, half);
    Loader loader(whole, 4);
    for (int64_t step : {0, 1, 2, 9, 31}) {
      const FedStep all(whole, step), last(second, step);
      const std::span<const Tensor> loaded = loader.get(step);
      const MinibatchForm& form = whole.forms()[whole.form(step)];
      for (std::size_t i = 0; i < form.size(); ++i) {
        const auto bytes = all[form[i].name].bytes();
        const auto part = last[form[i].name].bytes();
        EXPECT_TRUE(std::ranges::equal(part, bytes.subspan(bytes.size() / 2))) << form[i].name;
        EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), loaded[i].as<std::byte>()))
            << form[i].name;
      }
    }
  }
}

TEST(TrueObjects, OfPicturesWithoutObjectsAreEmptyPlaces) {
  Annotations table = frames_and_polygons();
  table.images.push_back({8, "b.png", 20, 30});
  table.first_object.push_back(3);
  const GreyPictures pictures(std::move(table));
  DetectionBatchOptions options = with_shapes();
  options.batch = 2;
  options.scales = {20};
  options.empty_pictures = true;
  const FedStep fed(DetectionBatches(pictures, options), 0);
  for (std::size_t item : {0, 1}) {
    const bool is_empty = fed.picture(item) == 1;
    const auto all_are = [](const auto& numbers, auto value) {
      return std::ranges::all_of(numbers, [&](auto number) { return number == value; });
    };
    EXPECT_EQ(all_are(fed.row<int64_t>("gt_vertex_of", item), -1), is_empty);
    EXPECT_EQ(all_are(fed.row<float>("gt_vertices", item), 0), is_empty);
    EXPECT_EQ(all_are(fed.row<int64_t>("gt_classes", item), 0), is_empty);
  }
}

}  // namespace
}  // namespace lockstep::testing
