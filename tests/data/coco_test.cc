// SPDX-License-Identifier: Apache-2.0
// COCO's files: reading, refusing, writing, and the parts that training uses.
#include <gtest/gtest.h>

#include <filesystem>

#include "data/coco/digest.h"
#include "data/coco/evaluation.h"
#include "data/coco/read_annotations.h"
#include "data/coco/rle.h"
#include "data/coco/training_boxes.h"
#include "data/coco/write_annotations.h"
#include "graph/file.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/threads.h"

namespace lockstep::testing {
namespace {

const std::string kImages =
    R"("images": [{"id": 7, "file_name": "b.jpg", "height": 40, "width": 60, "license": [[1]]},
                  {"id": 3, "file_name": "a.jpg", "height": 50, "width": 30}])";
const std::string kCategories =
    R"("categories": [{"id": 18, "name": "dog"},
        {"id": 1, "name": "person", "supercategory": "x",
         "keypoints": ["nose", "left_eye", "right_eye", "left_tail"]}])";

class CocoFile : public ::testing::Test {
 protected:
  std::string written(const std::string& text) {
    const std::string path = folder_ / "a.json";
    write_file(path, text);
    return path;
  }
  Annotations read(const std::string& text) { return read_annotations(written(text)); }
  // Expects a table with this single annotation to be refused.
  template <class... Parts>
  void refused(const std::string& annotation, const Parts&... parts) {
    SCOPED_TRACE(annotation);
    const std::string text =
        "{" + kImages + ", \"annotations\": [" + annotation + "], " + kCategories + "}";
    expect_error([&] { read(text); }, "a.json: ", parts...);
  }

  TemporaryFolder folder_;
};

const std::string kGood =
    R"({"id": 5, "image_id": 3, "category_id": 1, "bbox": [1, 2, 10.5, 20], "area": 100,
        "iscrowd": 0, "segmentation": [[1, 2, 3, 4, 5, 6.5]],
        "keypoints": [1, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0], "num_keypoints": 1})";

TEST_F(CocoFile, IsReadInAnyOrderOfItsLists) {
  const std::string crowd =
      R"({"id": 6, "image_id": 7, "category_id": 18, "bbox": [0, 0, 2, 2], "area": 3, "iscrowd": 1,
          "segmentation": {"size": [40, 60], "counts": [1, 2399]}})";
  const std::string again = R"({"id": 9, "image_id": 3, "category_id": 18, "bbox": [0, 0, 1, 1],
                                "ignore": 1})";
  const std::string objects = "\"annotations\": [" + kGood + "," + crowd + "," + again + "]";
  for (const std::string& text : {"{\"info\": {\"deep\": [1, {\"b\": 2}]}, " + objects + "," +
                                      kCategories + "," + kImages + "}",
                                  "{" + kImages + "," + kCategories + "," + objects + "}"}) {
    const Annotations table = read(text);
    ASSERT_EQ(table.categories.size(), 2U);
    EXPECT_EQ(table.categories[0].name, "person");  // by id
    EXPECT_EQ(table.categories[0].swap, (std::vector<std::pair<std::size_t, std::size_t>>{{1, 2}}));
    ASSERT_EQ(table.images.size(), 2U);
    EXPECT_EQ(table.images[1].file, "a.jpg");
    ASSERT_EQ(table.objects_of(0).size(), 1U);
    EXPECT_TRUE(table.objects_of(0)[0].crowd);
    EXPECT_EQ(table.masks[0].counts, (std::vector<uint32_t>{1, 2399}));
    ASSERT_EQ(table.objects_of(1).size(), 2U);
    const CocoObject& object = table.objects_of(1)[0];
    EXPECT_EQ(object.bbox, (std::array<double, 4>{1, 2, 10.5, 20}));
    EXPECT_EQ(object.polygons.count, 1U);
    EXPECT_EQ(table.coordinates[5], 6.5);
    EXPECT_EQ(object.keypoints.count, 12U);
    EXPECT_EQ(object.num_keypoints, 1);
    EXPECT_TRUE(table.objects_of(1)[1].ignore);
    EXPECT_EQ(table.objects_of(1)[1].area, 1);
  }
}

TEST_F(CocoFile, WrittenIsReadBack) {
  const Annotations table =
      read("{" + kImages + "," + kCategories + ", \"annotations\": [" + kGood +
           R"(,{"id": 6, "image_id": 7, "category_id": 18, "bbox": [0.1, 0, 2, 2], "iscrowd": 1,
               "segmentation": {"size": [40, 60], "counts": "02nZ2"}}]})");
  const std::string path = folder_ / "b.json";
  write_annotations(path, table);
  const Annotations again = read_annotations(path);
  write_annotations(folder_ / "c.json", again);
  EXPECT_EQ(read_file(path), read_file(folder_ / "c.json"));
  EXPECT_EQ(again.masks[0].counts, table.masks[0].counts);
  EXPECT_EQ(again.keypoints, table.keypoints);
}

TEST_F(CocoFile, BrokenJsonNamesTheByte) {
  expect_error([&] { read("{" + kImages + ", \"annotations\": [" + kGood.substr(0, 50)); },
               "a.json: not JSON: ", "at line 2", "unexpected end of input");
  expect_error([&] { read(""); }, "a.json: not JSON: ");
  expect_error([&] { read("17"); }, "a.json: should hold an object or a list");
  expect_error([&] { read("{" + kCategories + "}"); }, "a.json: has no images");
  expect_error([&] { read("{" + kImages + "}"); }, "a.json: has no categories");
  for (const std::string list : {"images", "categories", "annotations"})
    for (const std::string value : {"{}", "{\"1\": {\"id\": 1}}", "null", "17"})
      expect_error(
          [&] { read("{\"" + list + "\": " + value + ", " + kImages + ", " + kCategories + "}"); },
          "a.json: '", list, "' should be a list");
  expect_error([&] { read("{\"x\": " + std::string(200, '[') + std::string(200, ']') + "}"); },
               "a.json: lists and objects are nested more than 32 deep");
  expect_error([&] { read("{\"x\": " + std::string(100000, '[')); }, "nested more than 32 deep");
  expect_error([&] { read_annotations(folder_ / "none.json"); }, "none.json");
  expect_error([&] { read_annotations(folder_.path()); }, "not a regular file");
}

TEST_F(CocoFile, RefusesImagesAndCategoriesByTheirId) {
  const auto bad = [&](const std::string& image, const std::string& why) {
    expect_error([&] { read("{\"images\": [" + image + "], " + kCategories + "}"); },
                 "a.json: ", why);
  };
  bad("5", "image: should be an object, is 5");
  bad(R"({"file_name": "x", "height": 1, "width": 1})", "image: has no 'id'");
  bad(R"({"id": 1, "file_name": 5, "height": 1, "width": 1})", "image 1: 'file_name' is 5");
  bad(R"({"id": 1, "file_name": "", "height": 1, "width": 1})", "image 1: 'file_name' is empty");
  bad(R"({"id": 1, "file_name": "x", "height": 0, "width": 1})",
      "image 1: 'height' is 0, should be a whole number of at least 1");
  bad(R"({"id": 1, "file_name": "x", "height": 1, "width": 2000000})",
      "image 1: 'width' is 2000000");
  bad(R"({"id": 1, "file_name": "x", "height": 1.5, "width": 1})", "image 1: 'height' is 1.5");
  bad(R"({"id": 18446744073709551615, "file_name": "x", "height": 1, "width": 1})",
      "'id' is 18446744073709551615");
  bad(R"({"id": 1, "file_name": "x", "height": 1e999, "width": 1})", "not JSON");
  bad(R"({"id": 1, "file_name": "x", "height": 1, "width": 1},
         {"id": 1, "file_name": "y", "height": 1, "width": 1})",
      "image 1: occurs twice");
  // The C library would open "x".
  bad(R"({"id": 1, "file_name": "x\u0000y", "height": 1, "width": 1})",
      R"(image 1: 'file_name' is "x\x00y", which contains the control character \x00; remove it)");
  bad(R"({"id": 1, "file_name": "x\ny", "height": 1, "width": 1})", "the control character \\n");
  expect_error(
      [&] { read("{" + kImages + R"(, "categories": [{"id": 1, "name": "a\u001b[31m"}]})"); },
      R"(category 1: 'name' is "a\x1b[31m", which contains the control character \x1b)");
  expect_error(
      [&] {
        read("{" + kImages +
             R"(, "categories": [{"id": 1, "name": "a"}, {"id": 1, "name": "b"}]})");
      },
      "category 1: occurs twice");
}

TEST_F(CocoFile, RefusesAnnotationsByTheirId) {
  const auto with = [](const std::string& key, const std::string& value) {
    return R"({"id": 5, "image_id": 3, "category_id": 1, "bbox": [1, 2, 3, 4], ")" + key +
           "\": " + value + "}";
  };
  refused(kGood + "," + kGood, "annotation 5: occurs twice");
  refused(R"({"id": 5, "image_id": 4, "category_id": 1, "bbox": [1, 2, 3, 4]})",
          "annotation 5: 'image_id' is 4, but there is no such image");
  refused(R"({"id": 5, "image_id": 3, "category_id": 2, "bbox": [1, 2, 3, 4]})",
          "annotation 5: 'category_id' is 2, but there is no such category");
  refused(R"({"id": 5, "image_id": 3, "category_id": 1})", "annotation 5: has no 'bbox'");
  refused(R"({"id": 90.5, "image_id": 3, "category_id": 1})",
          "annotation 90.5: 'id' is 90.5, should be a whole number");
  refused(R"({"id": 5, "image_id": 3.5, "category_id": 1})", "annotation 5: 'image_id' is 3.5");
  refused(R"({"id": 5, "image_id": 3, "category_id": 1e300})", "'category_id' is 1e+300");
  refused(kGood + R"(, {"id": 5.0, "image_id": 3, "category_id": 1})",
          "annotation 5.0: occurs twice");
  refused(R"({"id": 5, "image_id": 3, "category_id": 1, "bbox": [1, 2, 3]})",
          "annotation 5: 'bbox' has 3 numbers, should have 4");
  refused(R"({"id": 5, "image_id": 3, "category_id": 1, "bbox": [1, 2, -3, 4]})",
          "annotation 5: 'bbox' is -3 x 4, width and height should be at least 0");
  refused(R"({"id": 5, "image_id": 3, "category_id": 1, "bbox": [1, null, 3, 4]})",
          "annotation 5: 'bbox' has null, should have numbers");
  refused(with("iscrowd", "2"), "annotation 5: 'iscrowd' is 2, should be 0 or 1");
  refused(with("area", "-1"), "annotation 5: 'area' is -1");
  refused(with("segmentation", "7"), "annotation 5: 'segmentation' is 7");
  refused(with("segmentation", "[[1, 2, 3, 4, 5, 6, 7]]"), "has a polygon of 7 numbers");
  refused(with("segmentation", R"({"size": [30, 50], "counts": [1500]})"),
          "annotation 5: 'segmentation' is a mask of 30 x 50, but image 3 is 50 high and 30 wide");
  refused(with("segmentation", R"({"size": [2, 2], "counts": [1, 2]})"),
          "annotation 5: 'segmentation': runs add up to 3 pixels, the mask of 2 x 2 has 4");
  refused(with("segmentation", R"({"size": [2, 2], "counts": [-1, 5]})"), "a run of -1 pixels");
  refused(with("segmentation", R"({"size": [0, 2], "counts": []})"),
          "the size of 'segmentation' should be whole numbers from 1, is 0 x 2");
  refused(with("segmentation", R"({"size": [2, 2], "counts": "Q"})"), "run 0 is cut off");
  refused(with("segmentation", R"({"size": [2, 2], "counts": "\u0001"})"),
          "has the character '\\x01'");
  refused(with("keypoints", "[1, 2, 2, 3]"), "annotation 5: 'keypoints' has 4 numbers");
}

// Some programs store whole numbers as floats.
TEST_F(CocoFile, WholeNumbersMayBeFloats) {
  const Annotations table = read(R"({
      "images": [{"id": 7.0, "file_name": "b.jpg", "height": 40.0, "width": 6e1}],
      "categories": [{"id": 90.0, "name": "dog"}, {"id": 1e2, "name": "cat"}],
      "annotations": [{"id": 5.0, "image_id": 7, "category_id": 90, "bbox": [1, 2, 3, 4],
                       "iscrowd": 1.0}, {"id": 6, "image_id": 7.0, "category_id": 100.0,
                       "bbox": [1, 2, 3, 4], "iscrowd": 0.0}]})");
  EXPECT_EQ(table.images[0].id, 7);
  EXPECT_EQ(table.images[0].width, 60);
  EXPECT_EQ(table.categories[0].id, 90);
  EXPECT_EQ(table.objects[0].id, 5);
  EXPECT_TRUE(table.objects[0].crowd);
  EXPECT_EQ(table.objects[1].category, 1);
  EXPECT_FALSE(table.objects[1].crowd);
  const std::string path = folder_ / "results.json";
  write_file(path, R"([{"image_id": 7.0, "category_id": 9e1, "bbox": [0, 0, 1, 1], "score": 1}])");
  EXPECT_EQ(read_results(path, table)[0].category, 0);
  write_file(path, R"([{"image_id": 7.5, "category_id": 90, "bbox": [0, 0, 1, 1], "score": 1}])");
  expect_error([&] { read_results(path, table); }, "results.json: result 0: 'image_id' is 7.5");
}

// Detectron drops such polygons as well, regardless of the rest of the object.
TEST_F(CocoFile, ShortPolygonsAreDroppedAndCounted) {
  const auto object = [](int id, const std::string& polygons) {
    return join(R"({"id": )", id, R"(, "image_id": 3, "category_id": 1, "bbox": [1, 2, 3, 4],
                "segmentation": )",
                polygons, "}");
  };
  const Annotations table =
      read("{" + kImages + "," + kCategories + ", \"annotations\": [" +
           object(1, "[[1, 2, 3, 4], [1, 2, 3, 4, 5, 6], []]") + "," + object(2, "[[1, 2, 3]]") +
           "," + object(3, "[[7, 8, 9, 10, 11, 12]]") + "]}");
  EXPECT_EQ(table.dropped_polygons, 3);
  ASSERT_EQ(table.objects.size(), 3U);
  EXPECT_EQ(table.objects[0].polygons.count, 1U);
  EXPECT_EQ(table.objects[1].polygons.count, 0U);
  ASSERT_EQ(table.objects[2].polygons.count, 1U);
  EXPECT_EQ(table.coordinates[table.polygons[table.objects[2].polygons.first].first], 7);
}

// A resumed run must find unchanged every field that a detector may learn from.
TEST_F(CocoFile, DigestsSeeEveryFieldThatCanBeLearntFrom) {
  const Annotations table =
      read("{" + kImages + "," + kCategories + ", \"annotations\": [" + kGood +
           R"(,{"id": 6, "image_id": 7, "category_id": 18, "bbox": [0.1, 0, 2, 2], "iscrowd": 1,
               "segmentation": {"size": [40, 60], "counts": [1, 2399]}}]})");
  const std::string digest = digest_of(table), of_boxes = digest_of_boxes(table);
  EXPECT_EQ(digest.substr(0, 21), "2 images, 2 objects, ");
  EXPECT_EQ(of_boxes, "2 images, 2 objects, 492fce7ae0936ea8") << "as in old checkpoints";
  const auto changed = [&](const char* what, const auto& change, bool boxes) {
    Annotations other = table;
    change(other);
    EXPECT_NE(digest_of(other), digest) << what;
    EXPECT_EQ(digest_of_boxes(other) != of_boxes, boxes) << what;
  };
  changed(
      "category", [](Annotations& t) { t.categories[0].name = "x"; }, true);
  changed(
      "names", [](Annotations& t) { t.categories[0].keypoints[1] = "x"; }, false);
  changed(
      "image", [](Annotations& t) { t.images[1].height = 51; }, true);
  changed(
      "box", [](Annotations& t) { t.objects[0].bbox[3] += 1; }, true);
  changed(
      "area", [](Annotations& t) { t.objects[1].area += 1; }, false);
  changed(
      "crowd", [](Annotations& t) { t.objects[1].crowd = true; }, true);
  changed(
      "point", [](Annotations& t) { t.coordinates[5] += 1; }, false);
  changed(
      "polygon", [](Annotations& t) { t.objects[1].polygons.count = 0; }, false);
  changed(
      "run",
      [](Annotations& t) {
        t.masks[0].counts = {2, 2398};
      },
      false);
  changed(
      "mask", [](Annotations& t) { t.objects[0].mask = -1; }, false);
  changed(
      "keypoint", [](Annotations& t) { t.keypoints[2] = 1; }, false);
  changed(
      "keypoints", [](Annotations& t) { t.objects[1].keypoints.count = 3; }, false);

  Annotations moved = table;  // neither change affects the digest
  moved.objects[0].id = 70;
  moved.images[0].file = "elsewhere/b.jpg";
  EXPECT_EQ(digest_of(moved), digest);
}

TEST(RunLengths, GoThroughTheirString) {
  for (const std::vector<uint32_t>& counts : {std::vector<uint32_t>{},
                                              {0},
                                              {5, 3, 2, 1000000, 1, 0, 7},
                                              {0, 0xFFFFFFFF, 0, 0xFFFFFFFF, 1},
                                              {16, 15, 32, 31, 33}})
    EXPECT_EQ(decode_run_lengths(encode_run_lengths(counts)), counts);
  EXPECT_EQ(encode_run_lengths({6, 1, 40, 4, 5}), "61X13mN");  // as pycocotools writes it
  EXPECT_EQ(area_of(RunLengths{7, 8, {6, 1, 40, 4, 5}}), 5);
  expect_error([] { decode_run_lengths(std::string(20, 'o')); }, "run 0 is longer than any number");
  expect_error([] { decode_run_lengths("1O"); }, "run 1 is -1 pixels");
}

TEST_F(CocoFile, ResultsOfAnotherDataSetAreRefused) {
  const Annotations truth = read("{" + kImages + "," + kCategories + "}");
  const std::vector<Detection> found{{1, 0, {1, 2, 3.25, 4}, 0.125}, {0, 1, {0, 0, 1, 1}, 1}};
  const std::string path = folder_ / "results.json";
  write_results(path, truth, found);
  const std::vector<Detection> again = read_results(path, truth);
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(again[0].bbox, found[0].bbox);
  EXPECT_EQ(again[0].score, 0.125);
  EXPECT_EQ(again[1].image, 0);
  EXPECT_EQ(again[1].category, 1);
  const auto bad = [&](const std::string& text, const std::string& why) {
    write_file(path, text);
    expect_error([&] { read_results(path, truth); }, "results.json: ", why);
  };
  bad(R"([{"image_id": 8, "category_id": 1, "bbox": [0, 0, 1, 1], "score": 1}])",
      "result 0: 'image_id' is 8, but " + truth.path +
          " has no such image; are these results of another");
  bad(R"([{"image_id": 7, "category_id": 5, "bbox": [0, 0, 1, 1], "score": 1}])",
      "result 0: 'category_id' is 5");
  bad(R"([{"image_id": 7, "category_id": 1, "bbox": [0, 0, 1], "score": 1}])",
      "'bbox' has 3 numbers");
  bad(R"([{"image_id": 7, "category_id": 1, "bbox": [0, 0, 1, 1]}])", "result 0: has no 'score'");
  bad(R"({"annotations": [{"id": 1}]})",
      "is in 'annotations'; a file of results should be one list");
}

TEST_F(CocoFile, TrainingTakesCutBoxesAndCountsTheOthers) {
  const auto object = [](int id, const std::string& box, const std::string& more) {
    return join(R"({"id": )", id, R"(, "image_id": 3, "category_id": 18, "bbox": )", box, more,
                "}");
  };
  const Annotations table = read("{" + kImages + "," + kCategories + ", \"annotations\": [" +
                                 object(1, "[-5, -5, 100, 20]", R"(, "iscrowd": 1)") + "," +
                                 object(2, "[40, 10, 5, 5]", "") + "," +  // right of the image
                                 object(3, "[1, 1, 1, 9]", "") + "," +    // one pixel wide
                                 object(4, "[1, 1, 9, 9]", R"(, "ignore": 1)") + "," +
                                 object(5, "[1, 1, 9, 9]", R"(, "area": 3)") + "," +
                                 object(6, "[1, 1, 9, 9]", R"(, "area": 4)") + "," +
                                 object(7, "[1, 40, 9, 50]", "") + "]}");  // below the image
  LeftOut left_out;
  EXPECT_TRUE(training_boxes(table, 0, 4, left_out).empty());
  EXPECT_EQ(left_out.text(), "");
  const std::vector<TrainingBox> boxes = training_boxes(table, 1, 4, left_out);
  EXPECT_EQ(left_out.text(), "1 ignored, 1 too small, 2 empty");
  ASSERT_EQ(boxes.size(), 3U);
  EXPECT_EQ(boxes[2].corners, (std::array<float, 4>{1, 40, 10, 50}));
  EXPECT_EQ(boxes[0].corners, (std::array<float, 4>{0, 0, 30, 15}));
  EXPECT_TRUE(boxes[0].crowd);
  EXPECT_EQ(boxes[0].kind, 2);
  EXPECT_EQ(table.objects[boxes[1].object].id, 6);
}

// pycocotools' arrays are compared in full by tests/python/check_coco.py.
TEST_F(CocoFile, PerfectResultsScoreOneOnAnyNumberOfThreads) {
  const Annotations table =
      read("{" + kImages + "," + kCategories + ", \"annotations\": [" + kGood + "]}");
  const std::vector<Detection> found{{1, 0, {1, 2, 10.5, 20}, 0.5}};
  for (int wanted : {1, 2, 8}) {
    const int threads = usable_threads(wanted);
    const CocoScores scores = evaluate_boxes(table, found, threads);
    EXPECT_NEAR(scores.numbers().ap, 1, 1e-12);
    EXPECT_EQ(scores.numbers().ap_large, -1);
    EXPECT_NEAR(scores.average_precision(0, 0), 1, 1e-12);
    EXPECT_NEAR(scores.average_precision_at(9, 0), 1, 1e-12);
    EXPECT_EQ(scores.average_precision(0, 1), -1) << "of a category without objects";
    EXPECT_EQ(evaluate_proposals(table, found, 10, threads).average[1], 1);
  }
  EXPECT_EQ(evaluate_boxes(table, {}, 1).numbers().ap, 0);
  EXPECT_EQ(evaluate_proposals(table, {}, 10).average, (std::array<double, 4>{0, 0, -1, -1}));
}

}  // namespace
}  // namespace lockstep::testing
