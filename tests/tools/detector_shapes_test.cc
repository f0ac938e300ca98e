// SPDX-License-Identifier: Apache-2.0
// Runs that learn from outlines and keypoints of files: slots for vertices, and annotations that
// have changed when a run is resumed.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/state/safetensors.h"
#include "tests/tools/detector_command.h"

namespace lockstep::testing {
namespace {

class DetectorShapes : public DetectorCommand {
 protected:
  void SetUp() override {
    DetectorCommand::SetUp();
    const Outcome drawn = run_lockstep({"scenes", "--images", "12", "--out", folder_ / "mine"});
    ASSERT_EQ(drawn.exit_code, 0) << drawn.err;
  }

  std::string annotations() const { return folder_ / "mine/annotations.json"; }
  // A run of masks and keypoints on the drawn scenes.
  std::vector<std::string> shapes(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all{
        "DATASETS",
        "{mine: {IMAGES: " + (folder_ / "mine/images") + ", ANNOTATIONS: " + annotations() + "}}",
        "TRAIN.DATASETS",
        "[mine]",
        "SCENES.VAL",
        "2",
        "SOLVER.MAX_ITER",
        "3",
        "MODEL.MASK_ON",
        "true",
        "MRCNN.ROI_MASK_HEAD",
        "mask_rcnn_heads.mask_rcnn_fcn_head_v1up",
        "MRCNN.DIM_REDUCED",
        "8",
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
        "KRCNN.USE_DECONV_OUTPUT",
        "true",
        "KRCNN.UP_SCALE",
        "2",
        "KRCNN.HEATMAP_SIZE",
        "28"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::string file_of(const std::string& into, const std::string& name) const {
    return folder_ / (into + "/train/mine/generalized_rcnn/" + name);
  }
};

// As many slots as the data need, with the bits of any larger number.
TEST_F(DetectorShapes, HaveSlotsForTheOutlinesOfTheData) {
  expect_trained("run", shapes());
  const std::string config = read_file(file_of("run", "config.yaml"));
  const std::string key = "  VERTICES: ";
  ASSERT_NE(config.find(key), std::string::npos);
  const int vertices = std::stoi(config.substr(config.find(key) + key.size()));
  EXPECT_GT(vertices, 20);
  EXPECT_LT(vertices, 400);
  expect_trained("wide", shapes({"TRAIN.VERTICES", "1000"}));
  EXPECT_TRUE(read_safetensors(file_of("run", "checkpoint.safetensors")).tensors ==
              read_safetensors(file_of("wide", "checkpoint.safetensors")).tensors);
  expect_refused(run("train", "few", shapes({"TRAIN.VERTICES", std::to_string(vertices - 1)})),
                 {"annotations.json: image ", join("has outlines of ", vertices, " vertices"),
                  join("more than ", vertices - 1, " (TRAIN.VERTICES)")});
}

// A vertex, a point or a pair of points of the data has changed.
TEST_F(DetectorShapes, AreUnchangedWhenARunIsResumed) {
  expect_trained("run", shapes());
  const std::string drawn = read_file(annotations());
  const auto resumed = [&](const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = shapes(more);
    words.insert(words.end(), {"SOLVER.MAX_ITER", "4", "--resume"});
    return run("train", "run", words);
  };
  const auto change = [&](const std::string& key, int by) {
    nlohmann::json all = nlohmann::json::parse(drawn);
    for (nlohmann::json& object : all["annotations"]) {
      if (!object.contains(key) || !object[key].is_array()) continue;
      nlohmann::json& number = object[key][0].is_array() ? object[key][0][0] : object[key][0];
      number = number.get<double>() + by;
      break;
    }
    write_file(annotations(), all.dump());
  };
  for (const char* key : {"segmentation", "keypoints"}) {
    change(key, 1);
    expect_refused(resumed(), {"was saved with the annotations of TRAIN.DATASETS 12 images"});
  }
  change("keypoints", 0);
  expect_refused(resumed({"DATASETS.mine.KEYPOINT_FLIPS", "[[left_barb, right_barb]]"}),
                 {"a mirrored picture swaps the keypoints left_barb and right_barb of 'arrow'"});
  expect_refused(resumed({"DATASETS.mine.KEYPOINT_FLIPS", "[[left_barb, right_barb]]",
                          "TEST.DATASETS", "[mine]"}),
                 {"was saved with the mirrored pairs of keypoints of TRAIN.DATASETS arrow: ",
                  "now it is arrow: left_barb and right_barb"});
  expect_refused(resumed({"KRCNN.NUM_KEYPOINTS", "4"}),
                 {"KRCNN.NUM_KEYPOINTS is 4, but mine of TRAIN.DATASETS needs 5"});
  const Outcome same = resumed(
      {"DATASETS.mine.KEYPOINT_FLIPS", "[[left_barb, right_barb], [left_tail, right_tail]]"});
  EXPECT_EQ(same.exit_code, 0) << same.err;
}

}  // namespace
}  // namespace lockstep::testing
