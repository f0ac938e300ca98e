// SPDX-License-Identifier: Apache-2.0
// The detections and objects that are shown as mistakes.
#include "data/coco/mistakes.h"

#include <gtest/gtest.h>

#include <limits>

#include "data/coco/masks.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

using Box = std::array<double, 4>;

// Objects must be added in the order of images.
class MistakesTest : public ::testing::Test {
 protected:
  MistakesTest() {
    truth_.categories = {{1, "disc", {}, {}}, {2, "box", {}, {}}};
    truth_.first_object = {0};
  }

  CocoObject& object(int32_t category, Box bbox) {
    CocoObject object;
    object.image = static_cast<int32_t>(truth_.images.size());
    object.category = category;
    object.bbox = bbox;
    object.area = bbox[2] * bbox[3];
    return truth_.objects.emplace_back(object);
  }
  void end_image() {
    truth_.images.push_back({static_cast<int64_t>(truth_.images.size()) + 1, "", 100, 100});
    truth_.first_object.push_back(truth_.objects.size());
  }
  void detection(int32_t image, int32_t category, Box bbox, double score) {
    detections_.push_back({image, category, bbox, score});
  }
  CocoMistakes found(const MistakeOptions& options = {}) {
    return find_mistakes(truth_, detections_, options);
  }

  Annotations truth_;
  std::vector<Detection> detections_;
};

constexpr Box kPlace{10, 10, 20, 20}, kElsewhere{60, 60, 20, 20};

TEST_F(MistakesTest, AreNoneWhereAllIsFound) {
  object(0, kPlace);
  object(1, kElsewhere);
  end_image();
  end_image();
  detection(0, 1, kElsewhere, 0.9);
  detection(0, 0, {11, 11, 20, 20}, 0.6);
  EXPECT_TRUE(found().wrong.empty());
  EXPECT_TRUE(found().missed.empty());
  EXPECT_EQ(found().counts, (std::array<int64_t, kMistakeKinds>{}));
}

TEST_F(MistakesTest, HaveAKindEach) {
  object(0, kPlace);
  end_image();
  detection(0, 0, kPlace, 0.95);
  detection(0, 0, {12, 10, 20, 20}, 0.9);  // a second detection of the same object
  detection(0, 1, kPlace, 0.8);
  detection(0, 0, {24, 10, 20, 20}, 0.7);  // 6 of 34 columns
  detection(0, 0, kElsewhere, 0.6);
  detection(0, 0, {29, 10, 20, 20}, 0.55);  // 1 of 39
  const CocoMistakes mistakes = found();
  std::vector<MistakeKind> kinds;
  for (const CocoMistake& mistake : mistakes.wrong) kinds.push_back(mistake.kind);
  using enum MistakeKind;
  EXPECT_EQ(kinds, (std::vector{duplicate, other_class, badly_placed, background, background}));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(mistakes.wrong[i].object, 0);
  EXPECT_EQ(mistakes.wrong[3].object, -1);
  EXPECT_EQ(mistakes.wrong[3].detection, 4);
  EXPECT_EQ(mistakes.wrong[1].overlap, 1);
  EXPECT_DOUBLE_EQ(mistakes.wrong[2].overlap, 6.0 / 34);
  EXPECT_EQ(mistakes.counts, (std::array<int64_t, kMistakeKinds>{2, 1, 1, 1, 0}));
}

TEST_F(MistakesTest, GiveTheObjectToTheSurestDetection) {
  object(0, kPlace);
  end_image();
  detection(0, 0, kPlace, 0.7);
  detection(0, 0, {14, 10, 20, 20}, 0.8);
  ASSERT_EQ(found().wrong.size(), 1U);
  EXPECT_EQ(found().wrong[0].kind, MistakeKind::duplicate);
  EXPECT_EQ(found().wrong[0].detection, 0);
}

TEST_F(MistakesTest, AreExcusedInACrowdOfTheirClass) {
  object(0, {0, 0, 50, 50}).crowd = true;
  end_image();
  detection(0, 0, kPlace, 0.9);
  detection(0, 0, kPlace, 0.8);
  detection(0, 1, kPlace, 0.7);
  detection(0, 0, {40, 0, 40, 40}, 0.6);  // a quarter of the box is in the crowd
  const CocoMistakes mistakes = found();
  ASSERT_EQ(mistakes.wrong.size(), 2U);
  EXPECT_EQ(mistakes.wrong[0].detection, 2);
  EXPECT_EQ(mistakes.wrong[1].detection, 3);
  EXPECT_TRUE(mistakes.missed.empty()) << "a crowd is never missed";
}

TEST_F(MistakesTest, MissTheLargestObjectsFirst) {
  object(0, {0, 0, 10, 10});
  object(1, kElsewhere);
  end_image();
  object(0, {0, 0, 30, 30});
  object(1, {50, 50, 40, 40}).ignore = true;
  object(0, {0, 50, 10, 10});
  end_image();
  detection(0, 0, kElsewhere, 0.9);      // a confusion of classes, which is another kind of mistake
  detection(1, 0, {0, 0, 30, 30}, 0.4);  // below the score threshold
  CocoMistakes mistakes = found();
  std::vector<int64_t> missed;
  for (const CocoMistake& mistake : mistakes.missed) missed.push_back(mistake.object);
  EXPECT_EQ(missed, (std::vector<int64_t>{2, 0, 4})) << "the first of equals in the file";
  EXPECT_EQ(mistakes.missed[0].image, 1);
  mistakes = found({.least_score = 0.3, .most = 1});
  ASSERT_EQ(mistakes.missed.size(), 1U);
  EXPECT_EQ(mistakes.missed[0].object, 0);
  EXPECT_EQ(mistakes.count(MistakeKind::missed), 2) << "counts include all mistakes";
}

TEST_F(MistakesTest, AreTheSurestOfEachKind) {
  object(0, kPlace);
  end_image();
  for (double score : {0.99, 0.98, 0.97, 0.96}) detection(0, 1, kElsewhere, score);
  detection(0, 1, kPlace, 0.6);
  const CocoMistakes mistakes = found({.most = 2});
  std::vector<int64_t> order;
  for (const CocoMistake& mistake : mistakes.wrong) order.push_back(mistake.detection);
  EXPECT_EQ(order, (std::vector<int64_t>{0, 1, 4}));
  EXPECT_EQ(mistakes.count(MistakeKind::background), 4);
}

TEST_F(MistakesTest, TakeTheFirstImageOfEqualScores) {
  for (int image = 0; image < 2; ++image) end_image();
  detection(1, 0, kPlace, 0.9);
  detection(0, 1, kPlace, 0.9);
  detection(0, 0, kPlace, 0.9);
  std::vector<int64_t> order;
  for (const CocoMistake& mistake : found().wrong) order.push_back(mistake.detection);
  EXPECT_EQ(order, (std::vector<int64_t>{1, 2, 0}));
}

RunLengths mask_of_box(const Box& box) {
  const auto& [left, top, width, height] = box;
  const double right = left + width, bottom = top + height;
  return mask_of(std::vector{left, top, right, top, right, bottom, left, bottom}, 100, 100);
}

// Boxes are all right; the masks differ.
TEST_F(MistakesTest, MayBeOfMasks) {
  for (const Box& box : {kPlace, kElsewhere}) {
    object(0, box).mask = static_cast<int32_t>(truth_.masks.size());
    truth_.masks.push_back(mask_of_box(box));
  }
  end_image();
  std::vector<RunLengths> masks;
  for (const Box& part : {Box{10, 10, 20, 9}, kElsewhere, Box{60, 60, 20, 1}}) {
    masks.push_back(mask_of_box(part));
    detection(0, 0, masks.size() == 1 ? kPlace : kElsewhere, 0.9);
  }
  EXPECT_EQ(found().counts, (std::array<int64_t, kMistakeKinds>{0, 0, 0, 1, 0}));
  const CocoMistakes mistakes = find_mask_mistakes(truth_, detections_, masks);
  ASSERT_EQ(mistakes.wrong.size(), 2U);
  EXPECT_EQ(mistakes.wrong[0].kind, MistakeKind::badly_placed);
  EXPECT_EQ(mistakes.wrong[0].object, 0);
  EXPECT_DOUBLE_EQ(mistakes.wrong[0].overlap, 9.0 / 20);
  EXPECT_EQ(mistakes.wrong[1].kind, MistakeKind::background);
  EXPECT_EQ(mistakes.wrong[1].detection, 2);
  ASSERT_EQ(mistakes.missed.size(), 1U);
  EXPECT_EQ(mistakes.missed[0].object, 0);
  masks.pop_back();
  expect_error([&] { find_mask_mistakes(truth_, detections_, masks); }, "2 masks for 3 detections");
}

TEST_F(MistakesTest, LeaveOutWhatIsNoNumber) {
  object(0, kPlace);
  end_image();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  detection(0, 0, {kNan, 10, 20, 20}, 0.9);
  detection(0, 0, {10, 10, kInfinite, 20}, 0.9);
  detection(0, 0, kPlace, kNan);
  EXPECT_TRUE(found().wrong.empty());
  EXPECT_EQ(found().missed.size(), 1U);
}

}  // namespace
}  // namespace lockstep::testing
