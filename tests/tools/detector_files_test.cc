// SPDX-License-Identifier: Apache-2.0
// Keys that a detector's command would ignore, and exported files of a detector.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "app/detection/detector_config.h"
#include "data/image.h"
#include "data/scenes/scenes.h"
#include "tests/tools/detector_command.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

// A run for which only its files matter.
const std::vector<std::string> kQuick{"SOLVER.MAX_ITER", "1", "SCENES.TRAIN", "8",
                                      "SCENES.VAL",      "1", "TRAIN.SCALES", "[64]"};

// The words that turn a key on: its other value, and the keys that the value requires.
std::vector<std::string> wishing(const ConfigKey& key) {
  static const std::map<std::string, std::vector<std::string>> beside{
      {"MODEL.MASK_ON",
       {"MRCNN.ROI_MASK_HEAD", "mask_rcnn_heads.mask_rcnn_fcn_head_v1up", "MRCNN.RESOLUTION", "14",
        "MRCNN.ROI_XFORM_RESOLUTION", "7"}},
      {"MODEL.KEYPOINTS_ON",
       {"KRCNN.ROI_KEYPOINTS_HEAD", "keypoint_rcnn_heads.add_roi_pose_head_v1convX",
        "KRCNN.NUM_KEYPOINTS", "17", "KRCNN.UP_SCALE", "2", "KRCNN.USE_DECONV_OUTPUT", "true",
        "KRCNN.HEATMAP_SIZE", "28"}},
      {"TEST.BBOX_REG",
       {"MODEL.TYPE", "retinanet", "MODEL.FASTER_RCNN", "false", "RETINANET.RETINANET_ON", "true"}},
      {"TEST.CLASS_SPECIFIC_AR", {"MODEL.FASTER_RCNN", "false", "MODEL.RPN_ONLY", "true"}}};
  const bool* const* is_on = std::get_if<bool*>(&key.target);
  std::vector<std::string> words{key.key, is_on ? **is_on ? "false" : "true" : "0.6"};
  if (const auto more = beside.find(key.key); more != beside.end())
    words.insert(words.end(), more->second.begin(), more->second.end());
  return words;
}

// Each command refuses every key that its scores or files would ignore.
TEST_F(DetectorCommand, WhatItWouldLeaveOutACommandRefusesByName) {
  expect_trained("run", kQuick);
  const std::string own = run_folder("run") + "/config.yaml", picture = folder_ / "photo.png";
  write_file(picture, png_of(Scenes({.count = 1}).picture(0)));
  const std::string text = read_file(own);
  DetectorConfig defaults;
  int commands = 0;
  for (const ConfigKey& key : keys_of(defaults)) {
    if (!key.facts.not_done.asked) continue;
    SCOPED_TRACE(key.key);
    const std::vector<std::string> words = wishing(key);
    DetectorConfig run_of_it = read_detector_config(config_files(own), words);
    write_file(own, yaml_of(keys_of(run_of_it)));
    for (const std::string& name : key.facts.not_done.refused_by) {
      const std::string said =
          join(": ", key.key, " ", words[1], " has no effect in this version: ", "`lockstep ", name,
               "` would give the results without it");
      const bool by_config = name == "infer" || name == "export";
      const Outcome outcome =
          name == "infer"    ? run_lockstep({"infer", run_folder("run"), picture})
          : name == "export" ? run_lockstep({"export", run_folder("run"), "-o", folder_ / "a.onnx"})
                             : run(name, "run", words);
      expect_refused(outcome, {said, by_config ? own : "command line"});
      ++commands;
    }
    write_file(own, text);
  }
  EXPECT_FALSE(fs::exists(folder_ / "a.onnx"));
  EXPECT_GE(commands, 20);
}

// Training notes keys that change no weights, and the effect of padding, then continues.
TEST_F(DetectorCommand, TrainingNotesWhatItsTestsLeaveOut) {
  std::vector<std::string> words{"TEST.SOFT_NMS.ENABLED", "true"};
  words.insert(words.end(), kQuick.begin(), kQuick.end());
  const Outcome outcome = run("train", "run", words);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* part :
       {"command line: TEST.SOFT_NMS.ENABLED has no effect in this version; `test`, `infer`, "
        "`export` refuse this, and a run's own tests are without it",
        " normalisations count the padding of a picture"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << outcome.out;
  words[1] = "false";
  EXPECT_EQ(run("test", "run", words).exit_code, 0);
}

// A detector's file works like its run, with the file's own values.
TEST_F(DetectorCommand, InferAndExportTakeARunAndItsFiles) {
  std::vector<std::string> words = kQuick;
  words.insert(words.end(), {"SOLVER.MAX_ITER", "4", "TEST.ITERS", "2"});
  expect_trained("run", words);
  const Scenes scenes({.count = 2, .held_out = true});
  make_folder(folder_ / "photos");
  for (int i : {0, 1}) write_file(folder_ / join("photos/", i, ".png"), png_of(scenes.picture(i)));
  const auto seen = [&](const std::string& source, const std::vector<std::string>& more = {}) {
    std::vector<std::string> command{
        "infer", source, folder_ / "photos", "--out", folder_ / "seen", "--threshold", "0.0"};
    command.insert(command.end(), more.begin(), more.end());
    const Outcome outcome = run_lockstep(command);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out + read_file(folder_ / "seen/0.json") + read_file(folder_ / "seen/1.json");
  };
  const std::string folder = run_folder("run");
  EXPECT_EQ(seen(folder + "/model.onnx"), seen(folder));
  EXPECT_EQ(seen(folder + "/best.onnx"), seen(folder, {"--weights", folder + "/best.safetensors"}));
  const auto refused = [&](const std::string& source, const std::vector<std::string>& parts) {
    expect_refused(run_lockstep({"infer", source, folder_ / "photos"}), parts);
  };
  refused(folder + "/step.onnx", {"is a training step; model.onnx in the folder of its run"});
  fs::copy(folder + "/model.onnx", folder_ / "model.onnx");
  refused(folder_ / "model.onnx",
          {"is a detector, but there is no ", "config.yaml, which says how"});
  write_file(folder_ / "config.yaml", "MODEL: {TYPE: mlp}\n");
  refused(folder_ / "model.onnx", {"config.yaml beside it describes another network"});
  expect_refused(run_lockstep({"infer", folder + "/model.onnx", folder_ / "photos", "--weights",
                               folder + "/best.safetensors"}),
                 {"--weights does not apply to "});

  const auto nodes_after = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "export");
    words.insert(words.end(), {"-o", folder_ / "out.onnx"});
    const Outcome outcome = run_lockstep(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return run_lockstep({"inspect", folder_ / "out.onnx", "--format", "text"}).out;
  };
  const std::string own = run_lockstep({"inspect", folder + "/model.onnx", "--format", "text"}).out;
  EXPECT_EQ(nodes_after({folder}), own);
  const std::string portable = nodes_after({folder, "--portable"});
  EXPECT_EQ(portable, nodes_after({folder + "/model.onnx", "--portable"}));
  EXPECT_NE(portable, own);
}

}  // namespace
}  // namespace lockstep::testing
