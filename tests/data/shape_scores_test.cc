// SPDX-License-Identifier: Apache-2.0
// Results and scores of masks and keypoints. tests/python/check_coco.py compares the scores with
// pycocotools.
#include <gtest/gtest.h>

#include <cmath>

#include "data/coco/evaluation.h"
#include "data/coco/mask_overlap.h"
#include "data/coco/masks.h"
#include "graph/file.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/threads.h"

namespace lockstep::testing {
namespace {

constexpr int64_t kHeight = 40, kWidth = 60;

// The mask of a rectangle of whole pixels.
RunLengths rectangle(int64_t left, int64_t top, int64_t width, int64_t height) {
  std::vector<uint8_t> bitmap(kHeight * kWidth);
  for (int64_t y = top; y < top + height; ++y)
    for (int64_t x = left; x < left + width; ++x) bitmap[y * kWidth + x] = 1;
  return mask_of_bitmap(bitmap, kHeight, kWidth);
}

// Two pictures; "arrow" has two points, "disc" has none.
class ShapeScores : public ::testing::Test {
 protected:
  ShapeScores() {
    truth_.path = "truth.json";
    truth_.categories = {{4, "disc", {}, {}}, {9, "arrow", {"tip", "end"}, {}}};
    truth_.images = {{7, "", kHeight, kWidth}, {3, "", kHeight, kWidth}};
    truth_.first_object = {0, 0, 0};
  }

  // Objects must be added in the order of images.
  CocoObject& object(int32_t image, int32_t category, const RunLengths& mask) {
    CocoObject object;
    object.id = static_cast<int64_t>(truth_.objects.size()) + 1;
    object.image = image;
    object.category = category;
    object.bbox = box_of(mask);
    object.area = object.bbox[2] * object.bbox[3];
    object.mask = static_cast<int32_t>(truth_.masks.size());
    truth_.masks.push_back(mask);
    for (std::size_t i = image + 1; i < truth_.first_object.size(); ++i) ++truth_.first_object[i];
    return truth_.objects.emplace_back(object);
  }
  // An arrow of 10 x 10 pixels at 10, 10.
  CocoObject& arrow(const std::vector<double>& points) {
    CocoObject& arrow = object(0, 1, rectangle(10, 10, 10, 10));
    arrow.keypoints = {static_cast<uint32_t>(truth_.keypoints.size()),
                       static_cast<uint32_t>(points.size())};
    for (std::size_t i = 2; i < points.size(); i += 3) arrow.num_keypoints += points[i] > 0;
    truth_.keypoints.insert(truth_.keypoints.end(), points.begin(), points.end());
    return arrow;
  }
  void detection(int32_t image, int32_t category, double score, const RunLengths& mask,
                 const std::vector<float>& points = {}) {
    found_.push_back({image, category, box_of(mask), score});
    shapes_.masks.push_back(mask);
    shapes_.keypoints.push_back(points);
  }
  void arrow_found(double score, const std::vector<float>& points) {
    detection(0, 1, score, rectangle(10, 10, 10, 10), points);
  }

  CocoScores mask_scores(int threads = 1) const {
    return evaluate_masks(truth_, found_, shapes_.masks, threads);
  }
  CocoScores keypoint_scores(const std::vector<double>& sigmas = {0.05, 0.1},
                             int threads = 1) const {
    return evaluate_keypoints(truth_, found_, shapes_.keypoints, sigmas, threads);
  }
  void refused(const std::string& text, const std::string& why) {
    SCOPED_TRACE(text);
    const std::string path = folder_ / "results.json";
    write_file(path, text);
    expect_error([&] { read_results(path, truth_); }, "results.json: ", why);
  }

  TemporaryFolder folder_;
  Annotations truth_;
  std::vector<Detection> found_;
  FoundShapes shapes_;
};

TEST_F(ShapeScores, MasksGoThroughTheirFile) {
  detection(1, 0, 0.125, rectangle(2, 3, 4, 5));
  detection(0, 1, 1, rectangle(0, 0, 0, 0));
  const std::string path = folder_ / "results.json";
  write_masks(path, truth_, found_, shapes_.masks);
  EXPECT_NE(
      read_file(path).find(R"({"image_id":3,"category_id":4,"segmentation":{"size":[40,60],)"),
      std::string::npos);
  FoundShapes again;
  const std::vector<Detection> read = read_results(path, truth_, again);
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].image, 1);
  EXPECT_EQ(read[0].score, 0.125);
  EXPECT_EQ(read[0].bbox, (CocoBox{2, 3, 4, 5}));
  EXPECT_EQ(read[1].bbox, CocoBox{});
  EXPECT_TRUE(again.keypoints.empty());
  ASSERT_EQ(again.masks.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(again.masks[i].counts, shapes_.masks[i].counts);
}

TEST_F(ShapeScores, KeypointsGoThroughTheirFile) {
  detection(0, 0, 0.9, rectangle(1, 1, 1, 1));  // a disc has no points
  detection(1, 1, 0.5, rectangle(2, 3, 4, 5), {10.5F, 0.1F, 1, 4, 20, 1});
  const std::string path = folder_ / "results.json";
  write_keypoints(path, truth_, found_, shapes_.keypoints);
  FoundShapes again;
  const std::vector<Detection> read = read_results(path, truth_, again);
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].image, 1);
  EXPECT_EQ(read[0].category, 1);
  EXPECT_EQ(read[0].bbox, (CocoBox{4, 0.1F, 6.5, 20 - double{0.1F}}));
  EXPECT_TRUE(again.masks.empty());
  ASSERT_EQ(again.keypoints.size(), 1U);
  EXPECT_EQ(again.keypoints[0], shapes_.keypoints[1]);
}

TEST_F(ShapeScores, AFileMayHaveRunLengthsAsAListBesideABox) {
  const std::string path = folder_ / "results.json";
  write_file(path, R"([{"image_id": 7, "category_id": 4, "bbox": [1, 2, 3, 4], "score": 1,
                        "segmentation": {"size": [40, 60], "counts": [1, 2399]}}])");
  FoundShapes shapes;
  EXPECT_EQ(read_results(path, truth_, shapes)[0].bbox, (CocoBox{1, 2, 3, 4}));
  EXPECT_EQ(shapes.masks[0].counts, (std::vector<uint32_t>{1, 2399}));
}

TEST_F(ShapeScores, BadMasksAreRefused) {
  const auto with = [](const std::string& segmentation) {
    return R"([{"image_id": 7, "category_id": 4, "score": 1, "segmentation": )" + segmentation +
           "}]";
  };
  refused(with(R"({"size": [60, 40], "counts": [2400]})"),
          "result 0: 'segmentation' is a mask of 60 x 40, but image 7 is 40 high and 60 wide");
  refused(with("[[1, 2, 3, 4, 5, 6]]"),
          "result 0: 'segmentation' is [[1,2,3,4,5,6]], should be run lengths");
  refused(with(R"({"counts": [2400]})"), "result 0: 'segmentation': has no 'size'");
  refused(with(R"({"size": [40, 60]})"), "result 0: 'segmentation': has no 'counts'");
  refused(with(R"({"size": [40, 60], "counts": [7]})"),
          "result 0: 'segmentation': runs add up to 7 pixels");
  refused(with(R"({"size": [40, 60], "counts": "o"})"),
          "result 0: 'segmentation': run 0 is cut off");
  refused(with(R"({"size": [40, 60], "counts": [-1, 2401]})"), "a run of -1 pixels");
  refused(R"([{"image_id": 7, "category_id": 4, "score": 1, "bbox": [0, 0, 1, 1]},
              {"image_id": 7, "category_id": 4, "score": 1, "bbox": [0, 0, 1, 1],
               "segmentation": {"size": [40, 60], "counts": [2400]}}])",
          "result 1: has a 'segmentation', but result 0 has none");
}

TEST_F(ShapeScores, BadKeypointsAreRefused) {
  const auto with = [](int category, const std::string& points) {
    return join(R"([{"image_id": 7, "category_id": )", category, R"(, "score": 1, "keypoints": )",
                points, "}]");
  };
  refused(with(9, "[1, 2, 1]"),
          "result 0: 'keypoints' has 3 numbers, should have 3 for each of 2 points of category "
          "'arrow'");
  refused(with(9, "[1, 2, 1, 1e308, 2, 1]"), "result 0: 'keypoints' has 1e+308");
  refused(with(9, "[1, 2, 1, null, 2, 1]"), "result 0: 'keypoints' has null");
  refused(with(4, "[1, 2, 1]"), "result 0: has 'keypoints', but category 'disc' has none");
  refused(R"([{"image_id": 7, "category_id": 9, "score": 1, "keypoints": [1, 2, 1, 3, 4, 1]},
              {"image_id": 7, "category_id": 9, "score": 1}])",
          "result 1: has no 'keypoints', but result 0 has");
}

// The detection's box is the object's; its mask has 60 of the object's 100 pixels.
TEST_F(ShapeScores, MasksAreScoredByTheirPixels) {
  object(0, 0, rectangle(10, 10, 10, 10));
  const std::vector<RunLengths> parts{rectangle(10, 10, 10, 5), rectangle(10, 19, 10, 1)};
  detection(0, 0, 0.9, joined(parts));
  EXPECT_EQ(found_[0].bbox, truth_.objects[0].bbox);
  EXPECT_NEAR(evaluate_boxes(truth_, found_).numbers().ap, 1, 1e-12);
  const CocoScores scores = mask_scores();
  EXPECT_NEAR(scores.average_precision_at(2, 0), 1, 1e-12);  // 0.6
  EXPECT_EQ(scores.average_precision_at(3, 0), 0);
  EXPECT_EQ(scores.average_precision(0, 1), -1) << "of a category without objects";
}

TEST_F(ShapeScores, ACrowdsMaskTakesEveryMaskInIt) {
  object(0, 0, rectangle(0, 0, 30, 40)).crowd = true;
  object(0, 0, rectangle(40, 10, 10, 10));
  detection(0, 0, 0.9, rectangle(5, 5, 5, 5));
  detection(0, 0, 0.8, rectangle(5, 15, 5, 5));
  detection(0, 0, 0.7, rectangle(40, 10, 10, 10));
  EXPECT_NEAR(mask_scores().numbers().ap, 1, 1e-12);
  detection(0, 0, 0.95, rectangle(32, 0, 5, 5));
  EXPECT_NEAR(mask_scores().numbers().ap, 0.5, 1e-12);
}

TEST_F(ShapeScores, AnObjectWithoutMaskIsNeverFound) {
  object(0, 0, rectangle(10, 10, 10, 10));
  object(1, 0, rectangle(10, 10, 10, 10)).mask = -1;
  for (int32_t image : {0, 1}) detection(image, 0, 0.9, rectangle(10, 10, 10, 10));
  EXPECT_EQ(mask_scores().numbers().ar100, 0.5);
  truth_.objects[0].mask = -1;
  expect_error([&] { mask_scores(); }, "truth.json: no annotation has a 'segmentation'");
}

TEST_F(ShapeScores, MasksOfAnotherSizeAreNotScored) {
  detection(0, 0, 0.9, {kWidth, kHeight, {kHeight * kWidth}});
  expect_error([&] { mask_scores(); },
               "the mask of detection 0 is 60 x 40, but image 7 is 40 high and 60 wide");
  shapes_.masks.clear();
  expect_error([&] { mask_scores(); }, "0 masks for 1 detections");
}

// The similarity of a point at distance d is exp(-d^2 / (2 area (2 sigma)^2)).
TEST_F(ShapeScores, KeypointsAreScoredBySimilarity) {
  arrow({12, 12, 2, 18, 18, 1});
  const auto away = static_cast<float>(std::sqrt(-2 * 100 * 0.2 * 0.2 * std::log(0.43)));
  arrow_found(0.9, {12, 12, 1, 18, 18 + away, 1});  // 1 and 0.43: the mean is 0.715
  const CocoScores scores = keypoint_scores();
  EXPECT_EQ(scores.rules().areas.size(), 3U);
  EXPECT_NEAR(scores.average_precision_at(4, 1), 1, 1e-12);  // 0.7
  EXPECT_EQ(scores.average_precision_at(5, 1), 0);
  const CocoNumbers numbers = scores.numbers();
  EXPECT_NEAR(numbers.ap, 0.5, 1e-12);
  EXPECT_EQ(numbers.ap_medium, -1);
  EXPECT_EQ(numbers.ar20, 0.5);
  EXPECT_EQ(numbers.ar50, 1);
  EXPECT_EQ(numbers.ar75, 0);
  EXPECT_EQ(numbers.ar100, -1);
  EXPECT_EQ(scores.average_precision(0, 0), -1) << "of a category without points";
  EXPECT_STREQ(scores.named_numbers()[5].first, "ar20");
  EXPECT_EQ(scores.named_numbers()[5].second, 0.5);
}

TEST_F(ShapeScores, UnmarkedPointsDoNotCount) {
  arrow({12, 12, 2, 0, 0, 0});
  arrow_found(0.9, {12, 12, 1, 1000, 1000, 1});
  EXPECT_NEAR(keypoint_scores().numbers().ap, 1, 1e-12);
}

// A detection is near such an object if its points are in three times the object's box.
TEST_F(ShapeScores, ObjectsWithoutMarkedPointsTakeDetectionsNearby) {
  arrow({12, 12, 2, 18, 18, 2});
  arrow({0, 0, 0, 0, 0, 0}).bbox = {40, 20, 6, 6};
  arrow_found(0.9, {35, 15, 1, 51, 31, 1});
  arrow_found(0.8, {12, 12, 1, 18, 18, 1});
  EXPECT_NEAR(keypoint_scores().numbers().ap, 1, 1e-12);
  arrow_found(0.95, {36, 16, 1, 50, 30, 1});  // only one of the two: an ignored object is no crowd
  EXPECT_NEAR(keypoint_scores().numbers().ap, 0.5, 1e-12);
  truth_.objects[1].num_keypoints = 1;  // the file's count decides
  EXPECT_NEAR(keypoint_scores().numbers().ar20, 1, 1e-12);
}

TEST_F(ShapeScores, SigmasFitTheKeypoints) {
  arrow({12, 12, 2, 18, 18, 2});
  arrow_found(0.9, {12, 12, 1, 18, 18, 1});
  expect_error([&] { keypoint_scores({0.1}); },
               "truth.json: category 'arrow' has 2 keypoints, but there are 1 sigmas");
  expect_error([&] { keypoint_scores({0.1, 0}); }, "the sigma of point 1 is 0");
  shapes_.keypoints[0].pop_back();
  expect_error([&] { keypoint_scores(); },
               "detection 0 has 5 numbers of keypoints, should have 3 for each of 2 points");
}

TEST_F(ShapeScores, ScoresDoNotDependOnThreads) {
  for (int32_t i = 0; i < 24; ++i) {
    arrow({10.0 + i, 12, 2, 18, 18.0 - i, static_cast<double>(i % 3)});
    detection(0, i % 2, 0.4 + i % 5 / 10.0, rectangle(8 + i % 7, 9 + i % 3, 10, 8 + i % 5),
              {10.0F + static_cast<float>(i), 12.5F, 1, 18, 17, 1});
  }
  const CocoScores masks = mask_scores(), keypoints = keypoint_scores();
  EXPECT_GT(masks.numbers().ap, 0.02);
  EXPECT_GT(keypoints.numbers().ap, 0.02);
  for (const int wanted : {2, 8}) {
    const int threads = usable_threads(wanted);
    EXPECT_EQ(mask_scores(threads).precision, masks.precision);
    EXPECT_EQ(keypoint_scores({0.05, 0.1}, threads).precision, keypoints.precision);
  }
}

}  // namespace
}  // namespace lockstep::testing
