// SPDX-License-Identifier: Apache-2.0
// A detector finds masks and points: the same bits for any number of replicas, threads and
// processes, for any number of boxes.
#include <gtest/gtest.h>

#include <cmath>

#include "app/detection/results/box_test.h"
#include "app/detection/shapes/keypoint_results.h"
#include "tests/detection/shapes_by_hand.h"
#include "tests/support/expect_error.h"
#include "tests/support/ranks.h"

namespace lockstep::testing {
namespace {

Options joined_options(Options words, const Options& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// -- the same bits

struct ShapeCase {
  std::string name, model;
  Options words = {};
  bool given = false;  // proposals are given
};
std::ostream& operator<<(std::ostream& out, const ShapeCase& c) { return out << c.name; }

const Options kBoxViews{"TEST.BBOX_AUG.ENABLED", "true", "TEST.BBOX_AUG.H_FLIP", "true"};
const Options kMaskViews{
    "TEST.MASK_AUG.ENABLED", "true",      "TEST.MASK_AUG.H_FLIP",       "true",
    "TEST.MASK_AUG.SCALES",  "[64]",      "TEST.MASK_AUG.MAX_SIZE",     "100",
    "TEST.MASK_AUG.HEUR",    "LOGIT_AVG", "TEST.MASK_AUG.SCALE_H_FLIP", "true"};
const Options kPointViews{
    "TEST.KPS_AUG.ENABLED",        "true",      "TEST.KPS_AUG.H_FLIP",   "true",
    "TEST.KPS_AUG.SCALES",         "[64, 128]", "TEST.KPS_AUG.MAX_SIZE", "200",
    "TEST.KPS_AUG.SCALE_SIZE_DEP", "true",      "TEST.KPS_AUG.AREA_TH",  "900",
    "TEST.KPS_AUG.ASPECT_RATIOS",  "[1.25]"};

std::vector<ShapeCase> shape_finder_cases() {
  const std::string both = kSmallFaster + kSmallMaskHead + kSmallKeypointHead;
  return {{"masks", kSmallFaster + kSmallMaskHead},
          {"points", kSmallFaster + kSmallKeypointHead, {"KRCNN.NMS_OKS", "true"}},
          {"both", both},
          {"both_of_stage_5",
           kSmallStage5,
           {"FPN.FPN_ON", "False", "FPN.MULTILEVEL_RPN", "False", "RPN.SIZES", "(16, 32, 64)"}},
          {"masks_of_given", kSmallFast + kSmallMaskHead, {}, true},
          {"masks_after_box_views", kSmallFaster + kSmallMaskHead, kBoxViews},
          {"masks_in_views", kSmallFaster + kSmallMaskHead, kMaskViews},
          {"points_in_views", kSmallFaster + kSmallKeypointHead,
           joined_options(kBoxViews, kPointViews)},
          {"both_in_views", both, joined_options(kMaskViews, kPointViews)},
          {"masks_of_given_in_views", kSmallFast + kSmallMaskHead, kMaskViews, true}};
}

PictureProposals proposals_for(const ShapeCase& c) {
  if (!c.given) return {};
  return [](std::size_t picture) {
    const auto off = static_cast<float>(picture);
    return std::vector<Corners>{{4 + off, 6, 40, 50}, {20, 5, 70, 40 + off}, {0, 30, 60, 80}};
  };
}

class ShapeFinderTest : public ::testing::TestWithParam<ShapeCase> {
 protected:
  BoxTestResult tested(const Options& more, Comm* comm = nullptr) {
    const ShapeCase& c = GetParam();
    SmallDetector detector(
        small_detector_config(c.model, joined_options(c.words, more), comm ? comm->size() : 1),
        comm);
    return BoxTest(detector.config, detector.session, pictures_, proposals_for(c)).test();
  }
  const CutScenes pictures_{7};
};

TEST_P(ShapeFinderTest, FindsTheSameBitsForAnyReplicasReadersAndProcesses) {
  const BoxTestResult expected = tested({"DATA_LOADER.NUM_THREADS", "1"});
  const DetectorConfig config = small_detector_config(GetParam().model, GetParam().words);
  std::size_t boxes = 0, masks = 0, points = 0;
  for (std::size_t i = 0; i < expected.found.size(); ++i)
    for (const FoundBox& box : expected.found[i]) {
      const CocoImage& image = pictures_.annotations().images[i];
      ++boxes;
      masks += box.mask.height == image.height && box.mask.width == image.width ? 1 : 0;
      points += box.points.size();
      EXPECT_TRUE(box.points.empty() || box.kind == kArrowKind);
    }
  EXPECT_GT(boxes, 10U);
  EXPECT_EQ(masks, config.network.model.mask_on ? boxes : 0U);
  EXPECT_EQ(points > 0, config.network.model.keypoints_on);
  EXPECT_EQ(expected.mask_scores.has_value(), config.network.model.mask_on);
  EXPECT_EQ(expected.keypoint_scores.has_value(), config.network.model.keypoints_on);
  for (const char* devices : {"cpu*2", "cpu*3"}) {
    SCOPED_TRACE(devices);
    expect_same_boxes(tested({"DEVICES", devices, "DATA_LOADER.NUM_THREADS", "4"}).found,
                      expected.found);
  }
  run_ranks(2, [&](Comm& comm) {
    const BoxTestResult result = tested({"DEVICES", "cpu*2"}, &comm);
    if (comm.rank() == 0) expect_same_boxes(result.found, expected.found);
  });
}

INSTANTIATE_TEST_SUITE_P(Kinds, ShapeFinderTest, ::testing::ValuesIn(shape_finder_cases()),
                         [](const auto& info) { return info.param.name; });

// -- the heads on feature maps

std::vector<Corners> boxes_for(std::size_t count) {
  std::vector<Corners> boxes;
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = static_cast<float>(i % 11) * 5, side = 12 + static_cast<float>(i % 7) * 8;
    boxes.push_back({at, 60 - at, at + side, 60 - at + side * 0.75F});
  }
  return boxes;
}

std::vector<int64_t> classes_for(std::size_t count) {
  std::vector<int64_t> classes;
  for (std::size_t i = 0; i < count; ++i) classes.push_back(1 + static_cast<int64_t>(i % 4));
  return classes;
}

// Capacities, empty places and the other boxes have no effect on a box.
TEST(ShapePrograms, TreatEachBoxAlone) {
  const Image image = CutScenes(1).picture(0);
  SmallDetector detector(small_detector_config(kSmallFaster + kSmallMaskHead + kSmallKeypointHead));
  const auto run = [&](const std::vector<Corners>& boxes, const std::vector<int64_t>& classes) {
    return heads_on(detector.config, detector.session, image, boxes, classes);
  };
  const std::vector<Corners> boxes = boxes_for(70);
  const std::vector<int64_t> classes = classes_for(70);
  const HeadOutputs all = run(boxes, classes);
  ASSERT_EQ(all.masks.size(), 70 * kOfMask);
  ASSERT_EQ(all.heatmaps.size(), 70 * kOfHeatmaps);
  for (const std::size_t count : {0, 1, 5, 17}) {
    SCOPED_TRACE(count);
    const HeadOutputs some = run(boxes_for(count), classes_for(count));
    ASSERT_EQ(some.masks.size(), count * kOfMask);
    ASSERT_EQ(some.heatmaps.size(), count * kOfHeatmaps);
    for (std::size_t i = 0; i < some.masks.size(); ++i)
      ASSERT_NEAR(some.masks[i], all.masks[i], 1e-5);
    for (std::size_t i = 0; i < some.heatmaps.size(); ++i)
      ASSERT_NEAR(some.heatmaps[i], all.heatmaps[i], 1e-5);
  }
  // A mask is of the class of its box.
  const HeadOutputs other = run({boxes[0], boxes[0]}, {1, 2});
  double difference = 0;
  for (std::size_t i = 0; i < kOfMask; ++i)
    difference = std::max<double>(difference, std::abs(other.masks[i] - other.masks[kOfMask + i]));
  EXPECT_GT(difference, 1e-6);
}

TEST(ShapePrograms, NeedAClassForEachBox) {
  const Image image = CutScenes(1).picture(0);
  SmallDetector detector(small_detector_config(kSmallFaster + kSmallMaskHead));
  expect_error([&] { heads_on(detector.config, detector.session, image, boxes_for(3), {1}); },
               "3 boxes, but classes of 1");
}

// -- rules and errors

TEST(ShapeFinder, SuppressesSimilarPointsAtTheEnd) {
  const std::vector<Image> images = images_in(CutScenes(3));
  const auto find = [&](const char* suppresses) {
    SmallDetector detector(
        small_detector_config(kSmallFaster + kSmallKeypointHead, {"KRCNN.NMS_OKS", suppresses}));
    return BoxFinder(detector.config, detector.session, arrow_rules())
        .find(list_of_pictures(images));
  };
  std::vector<FoundBoxes> all = find("false");
  for (FoundBoxes& boxes : all) suppress_similar(boxes, arrow_rules().sigmas);
  expect_same_boxes(find("true"), all);
}

TEST(ShapeFinder, RefusesViewsOfNothingBeforeItReadsAPicture) {
  SmallDetector detector(small_detector_config(
      kSmallFaster + kSmallMaskHead,
      {"TEST.MASK_AUG.ENABLED", "true", "TEST.MASK_AUG.ASPECT_RATIOS", "[0.01]"}));
  PictureList list{{{60, 90}, {90, 30}}, [](std::size_t) -> Image { fail("a picture was read"); }};
  expect_error(
      [&] { BoxFinder(detector.config, detector.session).find(list); },
      "TEST.MASK_AUG.ASPECT_RATIOS 0.01: a picture of 90 x 30 pixels would be 0 pixels wide");
}

TEST(ShapeFinder, RefusesHeatmapsThatAreNotNumbers) {
  const std::vector<Image> images = images_in(CutScenes(3));
  SmallDetector detector(small_detector_config(kSmallFaster + kSmallKeypointHead));
  StateValues changed;
  for (const auto& [name, value] : detector.session.save()) {
    if (name.find("kps_score_lowres_w") == std::string::npos) continue;
    const std::vector<float> numbers(static_cast<std::size_t>(value.count()), 3e38F);
    changed.emplace(name, Literal::of<float>(numbers, value.dims()));
  }
  ASSERT_FALSE(changed.empty());
  detector.session.load(changed);
  expect_error(
      [&] {
        BoxFinder(detector.config, detector.session, arrow_rules()).find(list_of_pictures(images));
      },
      "picture ", ": the heatmap of box ", "numbers have overflowed, training has diverged");
}

}  // namespace
}  // namespace lockstep::testing
