// SPDX-License-Identifier: Apache-2.0
// `lockstep train` and `lockstep test` of a detector of masks and keypoints: scores, files, the
// files that a test keeps.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/record/metrics.h"
#include "lockstep/error.h"
#include "tests/tools/detector_command.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

const Words kBothHeads{"MODEL.MASK_ON",
                       "true",
                       "MRCNN.ROI_MASK_HEAD",
                       "mask_rcnn_heads.mask_rcnn_fcn_head_v1up",
                       "MRCNN.DIM_REDUCED",
                       "8",
                       "MRCNN.DILATION",
                       "1",
                       "MRCNN.RESOLUTION",
                       "14",
                       "MRCNN.ROI_XFORM_RESOLUTION",
                       "7",
                       "MRCNN.ROI_XFORM_SAMPLING_RATIO",
                       "2",
                       "MODEL.KEYPOINTS_ON",
                       "true",
                       "KRCNN.ROI_KEYPOINTS_HEAD",
                       "keypoint_rcnn_heads.add_roi_pose_head_v1convX",
                       "KRCNN.NUM_KEYPOINTS",
                       "5",
                       "KRCNN.NUM_STACKED_CONVS",
                       "1",
                       "KRCNN.CONV_HEAD_DIM",
                       "8",
                       "KRCNN.ROI_XFORM_RESOLUTION",
                       "7",
                       "KRCNN.ROI_XFORM_SAMPLING_RATIO",
                       "2",
                       "KRCNN.USE_DECONV_OUTPUT",
                       "true",
                       "KRCNN.UP_SCALE",
                       "2",
                       "KRCNN.HEATMAP_SIZE",
                       "28"};

Words and_more(const Words& more) {
  Words all = kBothHeads;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST_F(DetectorCommand, ScoresMasksAndKeypointsAsTrainingDid) {
  expect_trained("run", kBothHeads);
  const MetricRow row = read_metrics(run_folder("run") + "/metrics.jsonl").back();
  const Outcome outcome = run("test", "run", and_more({"--out", folder_ / "scores"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto said = nlohmann::json::parse(read_file(folder_ / "scores/scores.json"));
  const auto& of_set = said["sets"]["scenes_val"];
  for (const char* name : {"ap", "mask_ap", "mask_ap50", "mask_ar100", "keypoint_ap",
                           "keypoint_ap75", "keypoint_ar20"}) {
    ASSERT_TRUE(of_set.contains(name)) << name;
    EXPECT_EQ(of_set[name].get<double>(), value_of(row, join("test_", name))) << name;
  }
  EXPECT_FALSE(of_set.contains("keypoint_ap_small"));
  for (const auto& [kind, field] :
       {std::pair{"bbox", "bbox"}, {"segmentations", "segmentation"}, {"keypoints", "keypoints"}}) {
    const std::string path = folder_ / join("scores/", kind, "_scenes_val_results.json");
    const auto results = nlohmann::json::parse(read_file(path));
    ASSERT_FALSE(results.empty()) << path;
    EXPECT_TRUE(results[0].contains(field));
    EXPECT_NE(outcome.out.find(path), std::string::npos) << outcome.out;
  }
  for (const char* part : {"mask AP ", "keypoint AP "})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << outcome.out;
  // In views, and by the logits of points.
  const Outcome views = run(
      "test", "run",
      and_more({"--out", folder_ / "views", "TEST.MASK_AUG.ENABLED", "true", "TEST.MASK_AUG.H_FLIP",
                "true", "TEST.KPS_AUG.ENABLED", "true", "TEST.KPS_AUG.SCALES", "[64]",
                "KRCNN.KEYPOINT_CONFIDENCE", "logit", "KRCNN.NMS_OKS", "true"}));
  EXPECT_EQ(views.exit_code, 0) << views.err;
  EXPECT_NE(read_file(folder_ / "views/segmentations_scenes_val_results.json"),
            read_file(folder_ / "scores/segmentations_scenes_val_results.json"));
}

TEST_F(DetectorCommand, TwoProcessesFindTheMasksOfOne) {
  expect_trained("one", kBothHeads);
  Words command{"launch", "-n", "2", "--", "lockstep"};
  const auto train = words("train", "two", and_more({"--devices", "cpu"}));
  command.insert(command.end(), train.begin(), train.end());
  const Outcome outcome = run_lockstep(command);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto last = [&](const std::string& into, const char* name) {
    return value_of(read_metrics(run_folder(into) + "/metrics.jsonl").back(), name);
  };
  for (const char* name : {"test_mask_ap", "test_mask_ar100", "test_keypoint_ap"})
    EXPECT_EQ(last("one", name), last("two", name)) << name;
}

TEST_F(DetectorCommand, ComparesMasksAndKeypointsWithExpectedResults) {
  expect_trained("run", kBothHeads);
  const auto test = [&](const std::string& expected) {
    return run("test", "run", and_more({"EXPECTED_RESULTS", expected}));
  };
  const Outcome good =
      test("[[scenes_val, mask, AP, [0, 1]], [scenes_val, keypoint, AP50, [0, 1]]]");
  EXPECT_EQ(good.exit_code, 0) << good.err;
  for (const char* part : {"PASS scenes_val mask AP: ", "PASS scenes_val keypoint AP50: "})
    EXPECT_NE(good.out.find(part), std::string::npos) << good.out;
  const Outcome bad = test("[[scenes_val, mask, AP, 7]]");
  EXPECT_EQ(bad.exit_code, 1) << bad.err;
  EXPECT_NE(bad.out.find("FAIL scenes_val mask AP: "), std::string::npos) << bad.out;
}

// Results never replace the annotations that a test reads.
TEST_F(DetectorCommand, ATestOfShapesKeepsTheAnnotationsThatItReads) {
  const Words one_step = and_more(
      {"SOLVER.MAX_ITER", "1", "SCENES.TRAIN", "8", "SCENES.VAL", "1", "TRAIN.SCALES", "[64]"});
  expect_trained("run", one_step);
  ASSERT_EQ(run_lockstep({"scenes", "--images", "4", "--out", folder_ / "mine"}).exit_code, 0);
  const std::string truth = read_file(folder_ / "mine/annotations.json");
  make_folder(folder_ / "D");
  for (const char* kind : {"segmentations", "keypoints"}) {
    const std::string path = folder_ / join("D/", kind, "_mine_results.json");
    write_file(path, truth);
    expect_refused(
        run("test", "run",
            and_more(
                {"DATASETS",
                 "{mine: {IMAGES: " + (folder_ / "mine/images") + ", ANNOTATIONS: " + path + "}}",
                 "TEST.DATASETS", "[mine]", "--weights",
                 run_folder("run") + "/checkpoint.safetensors", "--out", folder_ / "D"})),
        {"--out: writing '", "choose another name"});
    EXPECT_TRUE(read_file(path) == truth);
    fs::remove(path);
  }
}

// A data set that says nothing about its points is refused before the first step.
TEST_F(DetectorCommand, PointsThatCannotBeScoredStopARunAtItsStart) {
  expect_refused(run("train", "none", and_more({"KRCNN.NUM_KEYPOINTS", "17"})),
                 {"KRCNN.NUM_KEYPOINTS", "17", "arrow", "5"});
}

}  // namespace
}  // namespace lockstep::testing
