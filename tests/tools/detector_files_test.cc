// SPDX-License-Identifier: Apache-2.0
// Notes of training, rules for results in every command, and exported files of a detector.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "data/image.h"
#include "data/scenes/scenes.h"
#include "lockstep/model_files.h"
#include "lockstep/operators.h"
#include "tests/tools/detector_command.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

// A run for which only its files matter.
const std::vector<std::string> kQuick{"SOLVER.MAX_ITER", "1", "SCENES.TRAIN", "8",
                                      "SCENES.VAL",      "1", "TRAIN.SCALES", "[64]"};

// Training notes the effect of padding, then continues.
TEST_F(DetectorCommand, TrainingNotesTheEffectOfPadding) {
  const Outcome outcome = run("train", "run", kQuick);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find(" normalisations count the padding of a picture"), std::string::npos)
      << outcome.out;
  EXPECT_EQ(run("test", "run", kQuick).exit_code, 0);
}

// Soft suppression, voting and views work in every command; a portable file has no operator for
// the first two.
TEST_F(DetectorCommand, RefinesResultsInEveryCommand) {
  std::vector<std::string> words = kQuick;
  words.insert(words.end(), {"TEST.SOFT_NMS.ENABLED", "true", "TEST.BBOX_VOTE.ENABLED", "true",
                             "TEST.BBOX_AUG.ENABLED", "true", "TEST.BBOX_AUG.H_FLIP", "true"});
  expect_trained("run", words);
  const Outcome tested = run("test", "run", words);
  EXPECT_EQ(tested.exit_code, 0) << tested.err;
  std::vector<std::string> thin = words;
  thin.insert(thin.end(), {"TEST.BBOX_AUG.ASPECT_RATIOS", "[0.001]"});
  expect_refused(run("test", "run", thin),
                 {"TEST.BBOX_AUG.ASPECT_RATIOS 0.001: a picture of ", " would be 0 pixels wide"});
  const std::string picture = folder_ / "photo.png", out = folder_ / "out.onnx";
  write_file(picture, png_of(Scenes({.count = 1}).picture(0)));
  const Outcome seen = run_lockstep({"infer", run_folder("run"), picture});
  EXPECT_EQ(seen.exit_code, 0) << seen.err;
  EXPECT_EQ(run_lockstep({"export", run_folder("run"), "-o", out}).exit_code, 0);
  EXPECT_NE(run_lockstep({"inspect", out, "--format", "text"}).out.find("RefinedDetections"),
            std::string::npos);
  expect_refused(run_lockstep({"export", run_folder("run"), "--portable", "-o", out}),
                 {"RefinedDetections",
                  "ONNX has neither soft suppression (TEST.SOFT_NMS) nor box "
                  "voting (TEST.BBOX_VOTE)"});
}

// A missed EXPECTED_RESULTS ends `test` with exit code 1 after its results are written.
TEST_F(DetectorCommand, TestEndsWithOneWhenAnExpectedResultIsMissed) {
  expect_trained("run", kQuick);
  const auto expecting = [&](const std::string& value, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = kQuick;
    words.insert(words.end(), {"EXPECTED_RESULTS", "[[scenes_val, box, AP, " + value + "]]"});
    words.insert(words.end(), more.begin(), more.end());
    return run("test", "run", words);
  };
  const Outcome missed = expecting("0.9", {"VIS", "true", "VIS_TH", "0"});
  EXPECT_EQ(missed.exit_code, 1) << missed.err;
  EXPECT_NE(missed.out.find("FAIL scenes_val box AP: "), std::string::npos) << missed.out;
  const std::string results = folder_ / "run/test/scenes_val/generalized_rcnn/";
  EXPECT_TRUE(fs::exists(results + "scores.json"));
  EXPECT_NE(read_file(results + "scores.json").find("FAIL scenes_val box AP: "), std::string::npos);
  int drawn = 0;
  for (const auto& file : fs::directory_iterator(results))
    drawn += file.path().filename().string().starts_with("vis_scenes_val_") ? 1 : 0;
  EXPECT_EQ(drawn, 1);
  EXPECT_EQ(expecting("0.9", {"EXPECTED_RESULTS_RTOL", "1"}).exit_code, 0);
  EXPECT_EQ(expecting("[0.9, 0.3]").exit_code, 0);
  EXPECT_EQ(expecting("[0.9, 0.1]").exit_code, 1);
  expect_refused(expecting("much"), {"EXPECTED_RESULTS: the value of scenes_val box AP should be"});
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
  EXPECT_NE(nodes_after({folder}), own) << "takes pictures of any size";
  EXPECT_EQ(nodes_after({folder, "--image", "96x128"}), own);
  const std::string portable = nodes_after({folder, "--image", "96x128", "--portable"});
  // A portable file holds bodies beside the nodes, which Lockstep reads as its own operators.
  const auto bytes = fs::file_size(folder_ / "out.onnx");
  EXPECT_EQ(portable, nodes_after({folder + "/model.onnx", "--portable"}));
  EXPECT_EQ(portable, own);
  EXPECT_GT(bytes, fs::file_size(folder + "/model.onnx"));
}

// The size of an exported network's pictures, and networks without a run.
TEST_F(DetectorCommand, ExportsANetworkOfAnySizeOrOfOne) {
  expect_trained("run", kQuick);
  const std::string folder = run_folder("run"), out = folder_ / "out.onnx";
  const auto exported = [&](std::vector<std::string> words, const std::string& takes) {
    words.insert(words.begin(), "export");
    words.insert(words.end(), {"-o", out});
    const Outcome outcome = run_lockstep(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find(takes), std::string::npos) << outcome.out;
    return load_model(all_ops(), out).model;
  };
  const TrainingModel open = exported({folder, "--portable"}, "float32[1,3,height,width]");
  const TrainingModel fixed =
      exported({folder, "--portable", "--image", "96x160"}, "float32[1,3,96,160]");
  for (const TrainingModel* network : {&open, &fixed}) {
    EXPECT_NE(network->metadata.at("categories").find("triangle"), std::string::npos)
        << network->metadata.at("categories");
    const auto rules = nlohmann::json::parse(network->metadata.at("picture"));
    EXPECT_EQ(rules.contains("size"), network == &fixed) << rules;
    EXPECT_EQ(rules["stride"], 32);
    EXPECT_EQ(rules["scale"], 96);
  }
  std::vector<std::string> config{folder_ / "small.yaml", "--weights",
                                  folder + "/checkpoint.safetensors", "--portable"};
  EXPECT_EQ(text_of(exported(config, "float32[1,3,height,width]").inference),
            text_of(open.inference));
  EXPECT_EQ(open.metadata.at("picture").find("left_out"), std::string::npos);
  write_file(folder_ / "views.yaml", "_BASE_: small.yaml\nTEST: {BBOX_AUG: {ENABLED: true}}\n");
  config[0] = folder_ / "views.yaml";
  exported(config, "float32[1,3,height,width], without TEST.BBOX_AUG");

  fs::remove(out);
  const auto refused = [&](std::vector<std::string> words, const std::vector<std::string>& parts) {
    words.insert(words.begin(), "export");
    words.insert(words.end(), {"-o", out});
    expect_refused(run_lockstep(words), parts);
    EXPECT_FALSE(fs::exists(out));
  };
  refused({folder, "--image", "100x160"}, {"IMAGE 100x160", "multiples of 32"});
  refused({folder, "--image", "wide"}, {"IMAGE", "HEIGHTxWIDTH"});
  refused({folder, "--weights", folder + "/best.safetensors"}, {"--weights needs CONFIG.yaml"});
  refused({folder_ / "small.yaml"}, {"name the folder of a run", "--weights"});
  refused({folder_ / "small.yaml", "--weights", folder_ / "none.safetensors"}, {"does not exist"});
  refused({folder + "/model.onnx", "--portable", "--image", "96x160"}, {"--image and --weights"});
}

// The steps of a configuration, timed on its own pictures.
TEST_F(DetectorCommand, BenchTimesTheStepsOfAConfiguration) {
  std::vector<std::string> bench{"bench", "train-step", folder_ / "small.yaml", "--steps", "2"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), bench.begin(), bench.end());
    return run_lockstep(more);
  };
  const Outcome table =
      with({"--profile", "TRAIN.SCALES", "[64]", "NUM_GPUS", "1", "SOLVER.SCALE_TO_BATCH", "true"});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  for (const char* part : {"  MultilevelRoiAlignGrad", "  forward\n", "  backward\n", "  update\n",
                           "page faults", "    later", "arenas of the plan", "at most"})
    EXPECT_NE(table.out.find(part), std::string::npos) << part << " in " << table.out;
  const Outcome lines = with({"--json"});
  ASSERT_EQ(lines.exit_code, 0) << lines.err;
  const auto said = nlohmann::json::parse(lines.out);
  EXPECT_EQ(said["examples"], 4);
  EXPECT_EQ(said["first"].size(), 2u);
  EXPECT_GT(said["later"]["wall"], 0);
  EXPECT_GT(said["most_bytes"], said["planned_bytes"]);
  write_file(folder_ / "line.json", lines.out);
  expect_refused(run_lockstep({"bench", "train-step", "--against", folder_ / "line.json"}),
                 {"line.json:1", "times the steps of a CONFIG.yaml"});
  expect_refused(with({"--model", "lenet"}), {"--model"});
  expect_refused(with({"TRAIN.SCALE", "64"}), {"TRAIN.SCALE", "TRAIN.SCALES"});
  expect_refused(run_lockstep({"bench", "train-step", "--modle", "lenet"}), {"--modle"});
}

}  // namespace
}  // namespace lockstep::testing
