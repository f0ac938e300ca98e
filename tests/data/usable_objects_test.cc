// SPDX-License-Identifier: Apache-2.0
// Pictures that a network of outlines or points can train on, and refusals of the others by name.
#include <gtest/gtest.h>

#include <algorithm>

#include "data/detection/true_objects.h"
#include "tests/data/true_objects_fixture.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

// As in Detectron, a network of keypoints trains on pictures with a labelled point: hidden or
// visible, but not of a crowd. Pictures without any object may still be background.
TEST(TrueObjects, OfAKeypointNetworkHaveALabelledPoint) {
  const ScenePictures scenes({.count = 60});
  Annotations table = scenes.annotations();
  std::size_t labelled = 0, hidden_alone = 0, empty = 0, boxed = 0;
  for (std::size_t i = 0; i < table.images.size(); ++i) {
    bool any = false;
    for (const CocoObject& object : table.objects_of(i)) {
      if (object.keypoints.count == 0) continue;
      const bool hides = i % 3 == 0;  // these pictures have hidden points alone
      const bool drops = i % 3 == 1;  // and these have none
      for (uint32_t k = 2; k < object.keypoints.count; k += 3)
        table.keypoints[object.keypoints.first + k] = hides ? 1 : drops ? 0 : 2;
      any |= !drops;
      hidden_alone += hides;
    }
    labelled += any;
    empty += table.objects_of(i).empty();
    boxed += std::ranges::any_of(table.objects_of(i), [](const auto& o) { return !o.crowd; });
  }
  const GreyPictures pictures(std::move(table));
  DetectionBatchOptions options = with_shapes();
  options.vertices = 0;
  EXPECT_EQ(DetectionBatches(pictures, options).pictures().size(), boxed);
  options.keypoints = kPoints;
  const DetectionBatches batches(pictures, options);
  EXPECT_EQ(batches.pictures().size(), labelled);
  EXPECT_GT(hidden_alone, 0U);
  EXPECT_NE(batches.text().find(
                join("; ", boxed - labelled, " pictures without a labelled keypoint left out")),
            std::string::npos)
      << batches.text();
  options.empty_pictures = true;
  EXPECT_EQ(DetectionBatches(pictures, options).pictures().size(), labelled + empty);
}

TEST(TrueObjects, WithoutEnoughPlacesAreRefusedByPicture) {
  const GreyPictures pictures(frames_and_polygons());
  const Annotations& table = pictures.annotations();
  const auto refused = [&](const PictureSet& set, int64_t vertices, int64_t keypoints,
                           const std::string& text) {
    DetectionBatchOptions options = with_shapes();
    options.vertices = vertices;
    options.keypoints = keypoints;
    expect_error([&] { DetectionBatches(set, options); }, text);
  };
  EXPECT_EQ(most_vertices(table, -1), 4 + 4 + 4 + 4 + 3);
  EXPECT_EQ(most_vertices(table, 26), 1) << "without objects";
  refused(pictures, 18, 0,
          "made.json: image 7 has outlines of 19 vertices, more than 18 (TRAIN.VERTICES)");
  DetectionBatchOptions enough = with_shapes();
  enough.vertices = 19;
  EXPECT_NO_THROW(DetectionBatches(pictures, enough));
  refused(pictures, 0, 3,
          "made.json: none of the 1 images with a box to train on has a labelled keypoint "
          "(MODEL.KEYPOINTS_ON)");
  Annotations plain = table;
  for (CocoObject& object : plain.objects) object.mask = -1, object.polygons = {};
  refused(GreyPictures(plain), 19, 0,
          "made.json: none of the 3 objects to train on has an outline, a 'segmentation' "
          "(MODEL.MASK_ON)");
  plain.keypoints = {4, 4, 2, 5, 5, 1};
  plain.objects[1].keypoints = {0, 6};
  refused(GreyPictures(plain), 0, 3,
          "made.json: image 7: annotation 11 has 2 keypoints, but KRCNN.NUM_KEYPOINTS is 3");
}

}  // namespace
}  // namespace lockstep::testing
