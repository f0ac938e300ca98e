// SPDX-License-Identifier: Apache-2.0
// Joined sets of pictures: each object keeps its picture, and each picture keeps its set.
#include "data/detection/joined_pictures.h"

#include <gtest/gtest.h>

#include "data/detection/batches.h"
#include "data/scenes/scenes.h"
#include "graph/file.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

// One picture of 8 x 8 with a box, a polygon, a mask and a keypoint. `mark` identifies the set.
Annotations small_table(const std::string& path, float mark) {
  Annotations table;
  table.path = path;
  table.categories = {{1, "cat", {}, {}}, {2, "dog", {"nose"}, {}}};
  table.images.push_back({7, path + ".png", 8, 8});
  table.coordinates = {mark, 1, 5, 1, 5, 5};
  table.polygons.push_back({0, 6});
  table.masks.push_back({8, 8, {static_cast<uint32_t>(mark), 4, 60 - static_cast<uint32_t>(mark)}});
  table.keypoints = {mark, 3, 2};
  table.dropped_polygons = 1 + static_cast<int64_t>(mark);
  CocoObject with_polygon, with_mask;
  with_polygon.bbox = {1, 1, 4, 4};
  with_polygon.polygons = {0, 1};
  with_mask.bbox = {2, 2, 5, 5};
  with_mask.category = 1;
  with_mask.mask = 0;
  with_mask.keypoints = {0, 3};
  table.objects = {with_polygon, with_mask};
  table.first_object = {0, 2};
  return table;
}

class JoinedPicturesTest : public ::testing::Test {
 protected:
  NamedPictures named(const std::string& name, Annotations table) {
    return {name, std::make_unique<FilePictures>(folder_.path(), std::move(table))};
  }
  void write_picture_of(const std::string& path, uint8_t level) {
    write_file(folder_ / (path + ".png"), png_of({8, 8, std::vector<uint8_t>(192, level)}));
  }
  void refused(Annotations a, Annotations b, const std::string& text) {
    std::vector<NamedPictures> sets;
    sets.push_back(named("mine", std::move(a)));
    sets.push_back(named("yours", std::move(b)));
    expect_error([&] { JoinedPictures(std::move(sets)); }, text);
  }
  TemporaryFolder folder_;
};

TEST_F(JoinedPicturesTest, KeepTheirObjectsAndTheirPictures) {
  std::vector<NamedPictures> sets;
  const std::vector<std::string> paths{"a", "b", "c"};
  for (std::size_t i = 0; i < paths.size(); ++i) {
    sets.push_back(named(paths[i], small_table(paths[i], static_cast<float>(i))));
    write_picture_of(paths[i], static_cast<uint8_t>(10 * i));
  }
  const JoinedPictures joined(std::move(sets));
  const Annotations& table = joined.annotations();
  EXPECT_EQ(table.path, "a + b + c");
  EXPECT_EQ(table.dropped_polygons, 1 + 2 + 3);
  ASSERT_EQ(table.images.size(), 3U);
  ASSERT_EQ(table.first_object, (std::vector<std::size_t>{0, 2, 4, 6}));
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto objects = table.objects_of(i);
    ASSERT_EQ(objects.size(), 2U);
    for (const CocoObject& object : objects) EXPECT_EQ(object.image, static_cast<int32_t>(i));
    const auto mark = static_cast<float>(i);
    const PoolPart& polygon = table.polygons.at(objects[0].polygons.first);
    EXPECT_EQ(table.coordinates.at(polygon.first), mark);
    EXPECT_EQ(objects[0].mask, -1);
    EXPECT_EQ(table.masks.at(static_cast<std::size_t>(objects[1].mask)).counts[0], i);
    EXPECT_EQ(table.keypoints.at(objects[1].keypoints.first), mark);
    EXPECT_EQ(joined.picture(i).rgb[0], 10 * i);
    EXPECT_EQ(joined.name_of(i), paths[i] + ": image 7");
  }
}

TEST_F(JoinedPicturesTest, TrainTogether) {
  std::vector<NamedPictures> sets;
  for (const bool held_out : {false, true})
    sets.push_back({held_out ? "val" : "train", std::make_unique<ScenePictures>(SceneOptions{
                                                    .count = 9, .held_out = held_out})});
  const JoinedPictures joined(std::move(sets));
  const ScenePictures last({.count = 9, .held_out = true});
  EXPECT_EQ(joined.picture(12).rgb, last.picture(3).rgb);
  EXPECT_EQ(joined.annotations().objects_of(12).size(), last.annotations().objects_of(3).size());
  EXPECT_EQ(joined.name_of(12), last.name_of(3));
  DetectionBatchOptions options{.scales = {64}, .longest = 64, .places = 0};
  expect_error([&] { DetectionBatches(joined, options); }, "scenes_train: image ",
               "more than 0 (TRAIN.TRUE_BOXES)");
}

TEST_F(JoinedPicturesTest, NeedTheSameCategories) {
  const Annotations table = small_table("a", 0);
  Annotations other = table;
  other.categories[1].name = "cow";
  refused(table, other, "category 2 is 'dog' in mine, but 'cow' in yours");
  std::swap(other.categories[0], other.categories[1]);
  refused(table, other, "category 1 is 'cat' in mine, but 'cow' in yours");
  other.categories = {table.categories[0]};
  refused(table, other, "mine has 2 categories, yours has 1: 'dog' is missing in yours");
  refused(other, table, "mine has 1 categories, yours has 2: 'dog' is missing in mine");
  other = table;
  other.categories[1].keypoints = {"tail", "nose"};
  refused(table, other, "'dog' has the keypoints [nose] in mine, but [tail, nose] in yours");
  expect_error([] { JoinedPictures({}); }, "no data set to join");
}

// Scores have one list of sigmas, and a mirrored picture swaps the same points in each set.
TEST_F(JoinedPicturesTest, NeedTheSameSigmasAndPairs) {
  Annotations table = small_table("a", 0);
  table.categories[1].keypoints = {"left_ear", "right_ear", "nose"};
  table.categories[1].swap = {{0, 1}};
  table.keypoint_sigmas = {0.05, 0.05, 0.1};
  for (CocoObject& object : table.objects) object.keypoints = {};
  Annotations other = table;
  other.keypoint_sigmas[2] = 0.2;
  refused(table, other,
          "keypoints have the sigmas [0.05, 0.05, 0.1] in mine, but [0.05, 0.05, 0.2] in yours; "
          "declare the same KEYPOINT_SIGMAS for both");
  other = table;
  other.categories[1].swap = {{0, 2}};
  refused(table, other,
          "'dog' swaps keypoints in a mirrored picture: left_ear and right_ear in mine, but "
          "left_ear and nose in yours; declare the same KEYPOINT_FLIPS for both");
  other.categories[1].swap.clear();
  refused(other, table, "none in mine, but left_ear and right_ear in yours");
  for (const bool first : {false, true}) {
    Annotations silent = table;
    silent.keypoint_sigmas.clear();
    std::vector<NamedPictures> sets;
    sets.push_back(named("mine", first ? silent : table));
    sets.push_back(named("yours", first ? table : silent));
    EXPECT_EQ(JoinedPictures(std::move(sets)).annotations().keypoint_sigmas, table.keypoint_sigmas);
  }
}

// A file of boxes may be joined with a file of keypoints. Each file has its own ids.
TEST_F(JoinedPicturesTest, TakeKeypointsFromTheSetThatHasThem) {
  Annotations boxes = small_table("a", 0);
  boxes.categories = {{18, "cat", {}, {}}, {30, "dog", {}, {}}};
  std::vector<NamedPictures> sets;
  sets.push_back(named("a", std::move(boxes)));
  sets.push_back(named("b", small_table("b", 1)));
  const JoinedPictures joined(std::move(sets));
  EXPECT_EQ(joined.annotations().categories[1].keypoints, std::vector<std::string>{"nose"});
  EXPECT_EQ(joined.annotations().categories[1].id, 30);
}

}  // namespace
}  // namespace lockstep::testing
