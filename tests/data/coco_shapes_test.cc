// SPDX-License-Identifier: Apache-2.0
// Polygons, run lengths and keypoints of COCO's files: which are read, and which are refused by the
// annotation's id.
#include <gtest/gtest.h>

#include "data/coco/masks.h"
#include "data/coco/read_annotations.h"
#include "data/coco/rle.h"
#include "data/coco/write_annotations.h"
#include "graph/file.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

class CocoShapes : public ::testing::Test {
 protected:
  // Reads a file with annotation 5, of a category with three points in a picture 4 high and 6 wide,
  // with these further fields.
  Annotations with(const std::string& fields, int category = 1) {
    const std::string path = folder_ / "shapes.json";
    write_file(path, join(R"({"annotations": [{"id": 5, "image_id": 3, "category_id": )", category,
                          R"(, "bbox": [1, 2, 3, 4], )", fields, R"(}], "categories": [
        {"id": 1, "name": "arrow", "keypoints": ["tip", "left", "right"]},
        {"id": 2, "name": "disc"}],
        "images": [{"id": 3, "file_name": "a.jpg", "height": 4, "width": 6}]})"));
    return read_annotations(path);
  }
  template <class... Parts>
  void refused(const std::string& fields, const Parts&... parts) {
    SCOPED_TRACE(fields.substr(0, 100));
    expect_error([&] { with(fields); }, "shapes.json: ", parts...);
  }
  static std::string text_of(const RunLengths& mask) { return encode_run_lengths(mask.counts); }

  TemporaryFolder folder_;
};

std::string outline_of_points(std::size_t points) {
  std::string list;
  for (std::size_t i = 0; i < points; ++i) list += join(i == 0 ? "" : ",", i % 6, ",", i % 4);
  return "\"segmentation\": [[" + list + "]]";
}

TEST_F(CocoShapes, RefusesKeypointsByTheAnnotationsId) {
  refused(R"("keypoints": [1, 1, 2, 1, 1, 2])",
          "annotation 5: 'keypoints' has 2 points, but category 1 (arrow) names 3");
  refused(R"("keypoints": [1, 1, 2, 1, 1, 2, 1, 1, 2, 1])",
          "annotation 5: 'keypoints' has 10 numbers");
  expect_error([&] { with(R"("keypoints": [1, 1, 2])", 2); },
               "annotation 5: 'keypoints' has 1 point, but category 2 (disc) names 0");
  for (const std::string visibility : {"7", "-1", "0.5", "3", "1e300"})
    refused("\"keypoints\": [1, 1, 2, 1, 1, " + visibility + ", 0, 0, 0]",
            "annotation 5: 'keypoints' gives point 1 the visibility ",
            "should be 0 (not labelled), 1 (hidden) or 2 (visible)");
  refused(R"("keypoints": [1, 1e308, 2, 0, 0, 0, 0, 0, 0])",
          "annotation 5: 'keypoints' has the coordinate 1e+308, the most is 2097152");
  refused(R"("keypoints": [null, 1, 2, 0, 0, 0, 0, 0, 0])", "annotation 5: 'keypoints' has null");
  refused(R"("keypoints": [NaN, 1, 2, 0, 0, 0, 0, 0, 0])", "not JSON", "line 1");
  refused(R"("keypoints": [1, 1, 2, 0, 0, 0, 0, 0, 0], "num_keypoints": 4)",
          "annotation 5: 'num_keypoints' is 4, but 'keypoints' has 3 points");
  refused(R"("keypoints": [1, 1, 2, 0, 0, 0, 0, 0, 0], "num_keypoints": -1)",
          "annotation 5: 'num_keypoints' is -1");
}

// pycocotools ignores objects with the number 0, with any visibilities.
TEST_F(CocoShapes, TheFilesNumberOfKeypointsCounts) {
  const std::string points = R"("keypoints": [1, 1, 2, 3, 2.5, 1, 0, 0, 0])";
  EXPECT_EQ(with(points).objects[0].num_keypoints, 2);
  EXPECT_EQ(with(points + ", \"num_keypoints\": 0").objects[0].num_keypoints, 0);
  EXPECT_EQ(with(R"("num_keypoints": 7)").objects[0].num_keypoints, 0) << "without points";
  EXPECT_EQ(with(R"("keypoints": [])").objects[0].keypoints.count, 0U);

  const Annotations table = with(points + ", \"num_keypoints\": 1");
  write_annotations(folder_ / "again.json", table);
  const Annotations again = read_annotations(folder_ / "again.json");
  EXPECT_EQ(again.objects[0].num_keypoints, 1);
  EXPECT_EQ(again.keypoints, table.keypoints);
}

TEST_F(CocoShapes, RefusesSegmentationsByTheAnnotationsId) {
  refused(R"("segmentation": [[1, 1, 1e308, 2, 3, 3]])",
          "annotation 5: 'segmentation' has the coordinate 1e+308, the most is 2097152");
  refused(R"("segmentation": [[1, 1, -2097153, 2, 3, 3]])", "annotation 5: 'segmentation' has the");
  refused(R"("segmentation": [[1, 1, 1e999, 2, 3, 3]])", "not JSON");
  refused(R"("segmentation": [[1, 1, NaN, 2, 3, 3]])", "not JSON");
  refused(R"("segmentation": [[1, 1, "2", 2, 3, 3]])", "annotation 5: 'segmentation' has \"2\"");
  refused(R"("segmentation": {"size": [6, 4], "counts": [24]})",
          "annotation 5: 'segmentation' is a mask of 6 x 4, but image 3 is 4 high and 6 wide");
  refused(outline_of_points(100000),
          "annotation 5: 'segmentation' has 100000 points or more, the most is 65536; use run "
          "lengths or simplify the polygons");
  EXPECT_EQ(with(outline_of_points(65536)).polygons[0].count, 2U * 65536);
}

// A polygon outside of its picture is read; the pixels that it has in the picture are drawn.
TEST_F(CocoShapes, PolygonsMayLeaveThePicture) {
  const Annotations around =
      with(R"("segmentation": [[-100, -100, 2000000, -100, 2000000, 2000000, -100, 2000000]])");
  EXPECT_EQ(mask_of(around, around.objects[0]).counts, (std::vector<uint32_t>{0, 24}));
  const Annotations partly = with(R"("segmentation": [[4, 2, 9, 2, 9, 7, 4, 7]])");
  EXPECT_EQ(mask_of(partly, partly.objects[0]).counts, (std::vector<uint32_t>{18, 2, 2, 2}));
  const Annotations beside = with(R"("segmentation": [[7, 0, 9, 0, 9, 4, 7, 4]])");
  EXPECT_EQ(mask_of(beside, beside.objects[0]).counts, (std::vector<uint32_t>{24}));
}

// Crowds usually have run lengths, but some files give them polygons.
TEST_F(CocoShapes, CrowdsMayHavePolygons) {
  const Annotations table = with(R"("iscrowd": 1,
      "segmentation": [[0, 0, 2, 0, 2, 2, 0, 2], [1, 1, 3, 1, 3, 3, 1, 3], [1, 2, 3]])");
  const CocoObject& crowd = table.objects[0];
  EXPECT_TRUE(crowd.crowd);
  EXPECT_EQ(crowd.polygons.count, 2U);
  EXPECT_EQ(table.dropped_polygons, 1);
  EXPECT_EQ(mask_of(table, crowd).counts, (std::vector<uint32_t>{0, 2, 2, 3, 2, 2, 13}));
  write_annotations(folder_ / "again.json", table);
  const Annotations again = read_annotations(folder_ / "again.json");
  EXPECT_EQ(text_of(mask_of(again, again.objects[0])), text_of(mask_of(table, crowd)));
}

// A float would move the first corner below the rounding of pycocotools, and with it a pixel.
TEST_F(CocoShapes, CoordinatesKeepTheirDecimals) {
  const Annotations table = with(R"("segmentation": [[0.1, 0.3, 5.7, 0.1, 5.9, 3.3, 0.3, 3.9]])");
  EXPECT_EQ(table.coordinates[0], 0.1);
  EXPECT_EQ(table.coordinates[4], 5.9);
  const std::string path = folder_ / "again.json";
  write_annotations(path, table);
  EXPECT_NE(read_file(path).find("[0.1,0.3,5.7,0.1,5.9,3.3,0.3,3.9]"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::testing
