// SPDX-License-Identifier: Apache-2.0
// The objects found in a picture, as `infer` prints, draws and writes them.
#include <gtest/gtest.h>

#include "app/detection/results/drawn_boxes.h"
#include "app/detection/results/found_json.h"
#include "app/record/json_text.h"
#include "data/coco/masks.h"
#include "tests/app/pixels.h"

namespace lockstep::testing {
namespace {

std::vector<CocoCategory> disc_and_arrow() {
  return {{1, "disc", {}, {}},
          {2, "arrow", {"tip", "left_barb", "right_barb", "left_tail", "right_tail"}, {}}};
}

FoundBox arrow_with_all() {
  FoundBox box;
  box.corners = {1, 2, 4, 6};
  box.score = 0.75F;
  box.kind = 2;
  box.mask = {6, 8, {8, 4, 2, 4, 30}};
  for (int i = 0; i < 5; ++i)
    box.points.push_back({static_cast<float>(i), 2.5F, 4.0F * static_cast<float>(i), 0.5F});
  return box;
}

FoundBox plain_disc() {
  FoundBox box;
  box.corners = {0.5F, 0, 3, 4.25F};
  box.score = 0.5F;
  box.kind = 1;
  return box;
}

TEST(FoundJson, OfBoxesIsAsBefore) {
  FoundBox unknown = plain_disc();
  unknown.kind = 7;
  FoundBox proposal = plain_disc();
  proposal.kind = 0;
  const std::string text =
      json_text(json_of_objects({plain_disc(), unknown, proposal}, disc_and_arrow(), "bbox"));
  const auto object = [](const std::string& name) {
    return " {\n  \"class\": \"" + name +
           "\",\n  \"score\": 0.5,\n  \"bbox\": [\n   0.5,\n   0.0,\n   2.5,\n   4.25\n  ]\n }";
  };
  EXPECT_EQ(text, "[\n" + object("disc") + ",\n" + object("class 7") + ",\n" + object("proposal") +
                      "\n]\n");
  EXPECT_EQ(json_text(json_of_objects({}, {}, "bbox")), "[]\n");
}

TEST(FoundJson, HasMasksAndPointsInTheFormOfResults) {
  FoundBox disc = plain_disc();
  disc.mask = {6, 8, {48}};  // no pixel
  const auto said = json_of_objects({arrow_with_all(), disc}, disc_and_arrow(), "bbox");
  EXPECT_EQ(said[0]["segmentation"].dump(), R"({"size":[6,8],"counts":"8420l0"})");
  EXPECT_EQ(said[0]["keypoints"].dump(),
            "[0.0,2.5,1.0,1.0,2.5,1.0,2.0,2.5,1.0,3.0,2.5,1.0,4.0,2.5,1.0]");
  EXPECT_FALSE(said[0].contains("keypoint_score")) << "the box's score";
  EXPECT_EQ(said[1]["segmentation"]["size"].dump(), "[6,8]");
  EXPECT_FALSE(said[1].contains("keypoints")) << "discs have no points";
  for (const auto& [confidence, score] : {std::pair{"logit", 8.0}, {"prob", 0.5}}) {
    const auto scored = json_of_objects({arrow_with_all(), disc}, disc_and_arrow(), confidence);
    EXPECT_EQ(scored[0]["keypoint_score"].get<double>(), score);
    EXPECT_EQ(scored[0]["score"].get<double>(), 0.75);
    EXPECT_FALSE(scored[1].contains("keypoint_score"));
  }
}

TEST(FoundText, SaysWhatABoxHas) {
  EXPECT_EQ(found_text(plain_disc(), disc_and_arrow()), "disc 0.50");
  EXPECT_EQ(found_text(plain_disc(), {}), "class 1 0.50");
  FoundBox box = arrow_with_all();
  EXPECT_EQ(found_text(box, disc_and_arrow()), "arrow 0.75 (mask of 8 pixels, 5 keypoints)");
  box.points.resize(1);
  EXPECT_EQ(found_text(box, disc_and_arrow()), "arrow 0.75 (mask of 8 pixels, 1 keypoint)");
  box.mask = {};
  EXPECT_EQ(found_text(box, disc_and_arrow()), "arrow 0.75 (1 keypoint)");
  box.mask = {1, 1, {1}};
  box.points = {};
  EXPECT_EQ(found_text(box, {{1, "a\nb", {}, {}}, {2, "c\nd", {}, {}}}).find('\n'),
            std::string::npos);
}

TEST(FoundPictures, HaveMasksAndJoinedPoints) {
  FoundBox box = arrow_with_all();
  box.mask = mask_of(std::vector<double>{20, 20, 80, 20, 80, 80, 20, 80}, 100, 120);
  for (std::size_t i = 0; i < 5; ++i)
    box.points[i] = {29.5F + 10 * static_cast<float>(i), i % 2 == 0 ? 29.5F : 59.5F, 0, 0};
  const int64_t scale = 5;  // 120 pixels within 640
  const Image image = with_boxes(plain_image(100, 120), {box}, disc_and_arrow());
  ASSERT_EQ(image.width, 120 * scale);
  EXPECT_NE(pixel(image, 75 * scale, 30 * scale), grey(128)) << "filled";
  EXPECT_EQ(pixel(image, 90 * scale, 100 * scale), grey(128));
  EXPECT_LT(distance(pixel(image, 30 * scale, 30 * scale), 1), 0.1) << "a point";
  EXPECT_LT(nearest(image, 45 * scale, 35 * scale, 1), 0.2) << "tip to left barb";
  const Image unknown = with_boxes(plain_image(100, 120), {box}, {});
  EXPECT_GT(nearest(unknown, 45 * scale, 35 * scale, 1), 0.4) << "no names, no limbs";
}

}  // namespace
}  // namespace lockstep::testing
