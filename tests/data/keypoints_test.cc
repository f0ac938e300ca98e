// SPDX-License-Identifier: Apache-2.0
// Sigmas and pairs of a data set's keypoints: read, written, COCO's own, and refused.
#include "data/coco/keypoints.h"

#include <gtest/gtest.h>

#include "data/coco/read_annotations.h"
#include "data/coco/write_annotations.h"
#include "graph/file.h"
#include "lockstep/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

class Keypoints : public ::testing::Test {
 protected:
  // Reads a file with these categories.
  Annotations with(const std::string& categories) {
    const std::string path = folder_ / "points.json";
    write_file(path, R"({"images": [{"id": 3, "file_name": "a.jpg", "height": 4, "width": 6}],
                         "annotations": [], "categories": [)" +
                         categories + "]}");
    return read_annotations(path);
  }
  // The category 4 with two points and these sigmas.
  static std::string of_two(const std::string& sigmas, int id = 4) {
    return join(R"({"id": )", id, R"(, "name": "rod", "keypoints": ["a", "b"],)",
                R"( "keypoint_sigmas": )", sigmas, "}");
  }
  template <class... Parts>
  void refused(const std::string& categories, const Parts&... parts) {
    SCOPED_TRACE(categories);
    expect_error([&] { with(categories); }, "points.json: ", parts...);
  }
  TemporaryFolder folder_;
};

TEST_F(Keypoints, SigmasAreReadAndWritten) {
  const Annotations table = with(of_two("[0.05, 0.1]") + R"(, {"id": 1, "name": "disc"})");
  EXPECT_EQ(table.keypoint_sigmas, (std::vector<double>{0.05, 0.1}));
  EXPECT_EQ(sigmas_of(table), table.keypoint_sigmas);
  const std::string path = folder_ / "again.json";
  write_annotations(path, table);
  EXPECT_EQ(read_annotations(path).keypoint_sigmas, table.keypoint_sigmas);
  EXPECT_NE(read_file(path).find(R"("keypoints":["a","b"],"keypoint_sigmas":[0.05,0.1])"),
            std::string::npos);
  EXPECT_EQ(read_file(path).find("keypoint_sigmas"), read_file(path).rfind("keypoint_sigmas"))
      << "a category without points has none";
  EXPECT_EQ(with(of_two("[1, 2]") + ", " + of_two("[1, 2]", 5)).keypoint_sigmas.size(), 2U);
}

TEST_F(Keypoints, HaveNamesOfTheirOwn) {
  refused(R"({"id": 4, "name": "rod", "keypoints": ["left_a", "left_a", "right_a"]})",
          "category 4: 'keypoints' names \"left_a\" twice");
}

TEST_F(Keypoints, WrongSigmasAreRefusedByTheCategorysId) {
  refused(of_two("[0.05]"),
          "category 4: 'keypoint_sigmas' has 1 numbers, but 'keypoints' names 2 points");
  refused(of_two("[0.05, 0.05, 0.05]"), "category 4: 'keypoint_sigmas' has 3 numbers");
  refused(R"({"id": 4, "name": "rod", "keypoint_sigmas": [0.05]})",
          "category 4: 'keypoint_sigmas' has 1 numbers, but 'keypoints' names 0 points");
  refused(
      of_two("[0.05, -0.1]"),
      "category 4: 'keypoint_sigmas': the sigma of point 1 is -0.1, should be a number above 0");
  refused(of_two("[0, 0.05]"), "category 4: 'keypoint_sigmas': the sigma of point 0 is 0");
  refused(of_two("[NaN, 0.05]"), "not JSON");
  refused(of_two("[1e999, 0.05]"), "not JSON");
  refused(of_two("[null, 0.05]"), "category 4: 'keypoint_sigmas' has null");
  refused(of_two("[\"0.05\", 0.05]"), "category 4: 'keypoint_sigmas' has \"0.05\"");
  refused(of_two("0.05"), "category 4: 'keypoint_sigmas' is 0.05");
  refused(of_two("[0.05, 0.1]") + ", " + of_two("[0.05, 0.2]", 5),
          "category 5: 'keypoint_sigmas' differs from another category's");
}

const char* const kPerson =
    R"({"id": 1, "name": "person", "keypoints": ["nose", "left_eye", "right_eye", "left_ear",
        "right_ear", "left_shoulder", "right_shoulder", "left_elbow", "right_elbow", "left_wrist",
        "right_wrist", "left_hip", "right_hip", "left_knee", "right_knee", "left_ankle",
        "right_ankle"]})";

TEST_F(Keypoints, OfCocoHaveCocosSigmas) {
  const Annotations table = with(kPerson);
  EXPECT_TRUE(table.keypoint_sigmas.empty());
  const std::vector<double> sigmas = sigmas_of(table);
  ASSERT_EQ(sigmas.size(), 17U);
  EXPECT_EQ(sigmas[0], 0.26 / 10);
  EXPECT_EQ(sigmas[11], 1.07 / 10);
  EXPECT_EQ(sigmas[16], 0.89 / 10);
  Annotations other = table;
  other.categories[0].keypoints[0] = "chin";
  expect_error([&] { sigmas_of(other); },
               "points.json: the 17 keypoints of 'person' (chin, left_eye, ",
               "have no sigmas, which their scores need: give the data set KEYPOINT_SIGMAS in "
               "DATASETS, a number for each, such as 0.05");
  other.categories[0].keypoints.pop_back();
  expect_error([&] { sigmas_of(other); }, "the 16 keypoints of 'person'");
  expect_error([&] { sigmas_of(with(R"({"id": 1, "name": "disc"})")); },
               "points.json: no category has keypoints to score");
}

TEST_F(Keypoints, PairsAreNamedLeftAndRight) {
  const Annotations table = with(kPerson);
  const CocoCategory& person = table.categories[0];
  EXPECT_EQ(person.swap.size(), 8U);
  for (const auto& [left, right] : person.swap) EXPECT_EQ(left + 1, right);
  EXPECT_EQ(text_of_pairs(person).find("left_eye and right_eye, left_ear and right_ear, "), 0U);
  EXPECT_EQ(pairs_by_name({"right_a", "left_b", "left_a", "a"}), (KeypointPairs{{2, 0}}));
  EXPECT_EQ(text_of_pairs(CocoCategory{}), "none");
}

}  // namespace
}  // namespace lockstep::testing
