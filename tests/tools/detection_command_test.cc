// SPDX-License-Identifier: Apache-2.0
// Commands for detectors: training, killing and resuming, several processes, testing, showing.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "app/record/metrics.h"
#include "data/coco/digest.h"
#include "data/coco/read_annotations.h"
#include "data/image.h"
#include "data/scenes/scenes.h"
#include "graph/file.h"
#include "graph/printable.h"
#include "runtime/state/safetensors.h"
#include "tests/tools/detector_command.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

TEST_F(DetectorCommand, TwoRunsAndAnyNumberOfReadersGiveTheSameBits) {
  expect_trained("one");
  const std::string first = checkpoint("one");
  for (const char* readers : {"1", "2", "8"}) {
    expect_trained(readers, {"DATA_LOADER.NUM_THREADS", readers});
    EXPECT_TRUE(checkpoint(readers) == first) << readers << " threads";
  }
}

TEST_F(DetectorCommand, KilledFiveTimesAndResumedItGivesTheSameBits) {
  const std::vector<std::string> long_run{"SOLVER.MAX_ITER", "60", "TRAIN.SNAPSHOT_ITERS", "4"};
  expect_trained("whole", long_run);
  std::vector<std::string> more = long_run;
  more.insert(more.end(), {"--resume", "auto"});
  int kills = 0;
  for (int tries = 0; kills < 5 && tries < 12; ++tries)
    kills += run_lockstep(words("train", "killed", more), {.kill_after_ms = 300 + 60 * tries})
                 .exit_code == 137;
  EXPECT_EQ(kills, 5) << "the run ended before it could be killed";
  expect_trained("killed", more);
  EXPECT_TRUE(checkpoint("killed") == checkpoint("whole"));
}

TEST_F(DetectorCommand, TwoProcessesGiveTheBitsOfOneWithTwoReplicas) {
  expect_trained("one");
  std::vector<std::string> command{"launch", "-n", "2", "--", "lockstep"};
  const auto train = words("train", "two", {"--devices", "cpu"});
  command.insert(command.end(), train.begin(), train.end());
  const Outcome outcome = run_lockstep(command);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Safetensors one = read_safetensors(run_folder("one") + "/checkpoint.safetensors");
  const Safetensors two = read_safetensors(run_folder("two") + "/checkpoint.safetensors");
  EXPECT_TRUE(one.tensors == two.tensors);
  const auto last = [&](const std::string& into) {
    return value_of(read_metrics(run_folder(into) + "/metrics.jsonl").back(), "test_ap");
  };
  EXPECT_EQ(last("one"), last("two"));
}

// Each rank has its own file under the same name of the set.
TEST_F(DetectorCommand, ProcessesWithOtherAnnotationsAreTold) {
  for (const char* rank : {"0", "1"}) {
    const Outcome drawn = run_lockstep({"scenes", "--images", rank[0] == '0' ? "12" : "13", "--out",
                                        folder_ / (std::string("mine") + rank)});
    ASSERT_EQ(drawn.exit_code, 0) << drawn.err;
  }
  write_file(folder_ / "rank.sh",
             "exec " + shell_word(run_path()) + " train " + (folder_ / "small.yaml") +
                 " OUTPUT_DIR " + (folder_ / "run") +
                 " --devices cpu TRAIN.DATASETS '[mine]' DATASETS '{mine: " + "{IMAGES: " +
                 (folder_ / "mine") + "'$RANK'/images, ANNOTATIONS: " + (folder_ / "mine") +
                 "'$RANK'/annotations.json}}'\n");
  const Outcome outcome = run_lockstep({"launch", "-n", "2", "--", "sh", folder_ / "rank.sh"});
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  EXPECT_NE((outcome.out + outcome.err).find("the annotations of TRAIN.DATASETS"),
            std::string::npos)
      << outcome.out << outcome.err;
}

// Errors that need the opened data.
TEST_F(DetectorCommand, ARunThatIsRefusedLeavesNoFolder) {
  expect_refused(run("train", "none", {"TRAIN.DATASETS", "[nope]"}),
                 {"command line: TRAIN.DATASETS: there is no data set 'nope'. Declare a data "
                  "set of your own as DATASETS: {nope: "});
  expect_refused(run("train", "none", {"MODEL.NUM_CLASSES", "2"}),
                 {"command line: MODEL.NUM_CLASSES is 2, but scenes_train of TRAIN.DATASETS"});
  expect_refused(run("train", "none", {"TRAIN.DATASETS", "[coco_2014_train]"}),
                 {"; it follows from DATA_DIR, which is '", "' (default)"});
  EXPECT_FALSE(fs::exists(folder_ / "none"));
}

TEST_F(DetectorCommand, MetricsNameEveryLoss) {
  expect_trained("run");
  const std::vector<MetricRow> rows = read_metrics(run_folder("run") + "/metrics.jsonl");
  ASSERT_EQ(rows.size(), 5u);
  for (const char* name :
       {"loss", "loss_cls", "loss_bbox", "loss_rpn_cls_fpn2", "loss_rpn_bbox_fpn5", "accuracy_cls",
        "lr", "time", "data_time", "images_per_second", "memory_mib", "eta", "queue"})
    EXPECT_TRUE(std::isfinite(value_of(rows[0], name))) << name;
  double sum = 0;
  for (const auto& [name, value] : rows[0])
    if (name.rfind("loss_", 0) == 0) sum += value;
  EXPECT_NEAR(sum, value_of(rows[0], "loss"), 1e-5);
  for (const char* name : {"test_ap", "test_ap50", "test_ar100"})
    EXPECT_TRUE(std::isfinite(value_of(rows.back(), name))) << name;
}

TEST_F(DetectorCommand, ATestScoresAsTrainingDidAndWritesResults) {
  expect_trained("run");
  const Outcome outcome = run("test", "run", {"--out", folder_ / "scores"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto said = nlohmann::json::parse(read_file(folder_ / "scores/scores.json"));
  const MetricRow row = read_metrics(run_folder("run") + "/metrics.jsonl").back();
  EXPECT_EQ(said["sets"]["scenes_val"]["ap"].get<double>(), value_of(row, "test_ap"));
  const auto results =
      nlohmann::json::parse(read_file(folder_ / "scores/bbox_scenes_val_results.json"));
  ASSERT_FALSE(results.empty());
  EXPECT_EQ(results[0]["bbox"].size(), 4u);
}

// If results cannot be written completely, the results of an earlier test stay unchanged.
TEST_F(DetectorCommand, AFullDiskLosesNoResults) {
  expect_trained("run");
  const std::vector<std::string> out{"--out", folder_ / "scores"};
  ASSERT_EQ(run("test", "run", out).exit_code, 0);
  const std::string path = folder_ / "scores/bbox_scenes_val_results.json";
  const std::string before = read_file(path);
  const Outcome full = run_lockstep(words("test", "run", out), {.file_size_limit = 500});
  EXPECT_EQ(full.exit_code, 2) << full.err;
  EXPECT_NE(full.err.find("bbox_scenes_val_results.json"), std::string::npos) << full.err;
  EXPECT_TRUE(read_file(path) == before);
}

// User pictures, one of them unreadable.
TEST_F(DetectorCommand, ABadPictureStopsTrainingByNameOrIsSkipped) {
  const Outcome drawn = run_lockstep({"scenes", "--images", "12", "--out", folder_ / "mine"});
  ASSERT_EQ(drawn.exit_code, 0) << drawn.err;
  const std::vector<std::string> mine{"DATASETS",
                                      "{mine: {IMAGES: " + (folder_ / "mine/images") +
                                          ", ANNOTATIONS: " + (folder_ / "mine/annotations.json") +
                                          "}}",
                                      "TRAIN.DATASETS", "[mine]"};
  const std::string jpeg = read_file(folder_ / "mine/images/000003.jpg");
  write_file(folder_ / "mine/images/000003.jpg", jpeg.substr(0, jpeg.size() / 2));
  const Outcome stopped = run("train", "mine", mine);
  EXPECT_EQ(stopped.exit_code, 2);
  EXPECT_NE(stopped.err.find("000003.jpg"), std::string::npos) << stopped.err;
  std::vector<std::string> skipping = mine;
  skipping.insert(skipping.end(), {"TRAIN.SKIP_BAD_IMAGES", "true"});
  const Outcome skipped = run("train", "skipping", skipping);
  EXPECT_EQ(skipped.exit_code, 0) << skipped.err;
  EXPECT_NE(skipped.out.find("skipped"), std::string::npos) << skipped.out;
}

// The number of rows for objects is the data's maximum, unless a key sets it. The bits are the
// same.
TEST_F(DetectorCommand, HasPlacesForTheObjectsOfItsData) {
  std::string unsaid = kSmallDetector;
  const std::string places = " TRUE_BOXES: 16,";
  unsaid.replace(unsaid.find(places), places.size(), "");
  expect_trained("sixteen");
  write_file(folder_ / "small.yaml", unsaid);
  expect_trained("run");
  EXPECT_TRUE(read_safetensors(run_folder("run") + "/checkpoint.safetensors").tensors ==
              read_safetensors(run_folder("sixteen") + "/checkpoint.safetensors").tensors);
  EXPECT_NE(read_file(run_folder("run") + "/config.yaml").find("  TRUE_BOXES: 9\n"),
            std::string::npos)
      << "scenes have up to 8 objects, and a crowd";
  expect_refused(run("train", "few", {"TRAIN.TRUE_BOXES", "2"}),
                 {"boxes to train on, more than 2 (TRAIN.TRUE_BOXES)"});
}

TEST_F(DetectorCommand, ARunOfOtherPicturesOrAnchorsIsNotResumed) {
  expect_trained("run");
  for (const auto& [key, value] : {std::pair{"TRAIN.USE_FLIPPED", "false"},
                                   {"FPN.RPN_ANCHOR_START_SIZE", "32"},
                                   {"PIXEL_MEANS", "[0, 0, 0]"}})
    expect_refused(run("train", "run", {"--resume", key, value}), {"was saved with ", key});
}

// The file has the same name, but new contents.
TEST_F(DetectorCommand, ARunOfOtherAnnotationsIsNotResumed) {
  const std::vector<std::string> mine{"DATASETS",
                                      "{mine: {IMAGES: " + (folder_ / "mine/images") +
                                          ", ANNOTATIONS: " + (folder_ / "mine/annotations.json") +
                                          "}}",
                                      "TRAIN.DATASETS", "[mine]"};
  const auto draw = [&](const char* images) {
    const Outcome drawn = run_lockstep({"scenes", "--images", images, "--out", folder_ / "mine"});
    ASSERT_EQ(drawn.exit_code, 0) << drawn.err;
  };
  draw("12");
  expect_trained("run", mine);
  std::vector<std::string> longer = mine;
  longer.insert(longer.end(), {"SOLVER.MAX_ITER", "16", "--resume"});
  draw("13");
  expect_refused(run("train", "run", longer),
                 {"was saved with the annotations of TRAIN.DATASETS 12 images", "now it is 13"});
  draw("12");
  expect_trained("run", longer);
}

// The digest of earlier versions omitted areas, polygons, masks and keypoints.
TEST_F(DetectorCommand, ACheckpointWithTheFormerDigestGoesOnWithANote) {
  ASSERT_EQ(run_lockstep({"scenes", "--images", "12", "--out", folder_ / "mine"}).exit_code, 0);
  const std::string annotations = folder_ / "mine/annotations.json";
  const std::string drawn = read_file(annotations);
  const std::vector<std::string> mine{
      "DATASETS",
      "{mine: {IMAGES: " + (folder_ / "mine/images") + ", ANNOTATIONS: " + annotations + "}}",
      "TRAIN.DATASETS",
      "[mine]",
      "SOLVER.MAX_ITER",
      "3"};
  expect_trained("run", mine);
  std::vector<std::string> longer = mine;
  longer.back() = "4";
  expect_trained("whole", longer);
  longer.push_back("--resume");
  const auto change = [&](const std::string& key, int by) {
    auto all = nlohmann::json::parse(drawn);
    nlohmann::json& value = all["annotations"][0][key];
    if (value.is_array())
      value[0] = value[0].get<double>() + by;
    else
      value = value.get<double>() + by;
    write_file(annotations, all.dump());
  };
  const fs::path of_mine = folder_ / "run/train/mine/generalized_rcnn";
  const std::string path = of_mine / "checkpoint.safetensors";
  const std::string key = "the annotations of TRAIN.DATASETS", before = read_file(path);
  change("area", 1);
  expect_refused(run("train", "run", longer), {"was saved with " + key, "now it is 12 images"});
  write_file(annotations, drawn);

  // The checkpoint as an earlier version would have written it.
  Safetensors file = read_safetensors(path);
  file.metadata.at(key) = digest_of_boxes(read_annotations(annotations));
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const auto& [name, value] : file.tensors) tensors.emplace_back(name, view_of(value));
  write_safetensors(path, tensors, file.metadata);
  change("bbox", 1);
  expect_refused(run("train", "run", longer), {"was saved with " + key, "now it is 12 images"});
  write_file(annotations, drawn);
  const Outcome resumed = run("train", "run", longer);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_NE(resumed.out.find("whether areas, polygons, masks and keypoints are still the same is "
                             "not known"),
            std::string::npos)
      << resumed.out;
  EXPECT_TRUE(read_file(path) == read_file(folder_ / "whole/train/mine/generalized_rcnn/"
                                                     "checkpoint.safetensors"));
  longer[longer.size() - 2] = "5";
  const Outcome again = run("train", "run", longer);
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.out.find("not known"), std::string::npos) << "printed once";
}

TEST_F(DetectorCommand, PolygonsThatAreLeftOutAreCounted) {
  ASSERT_EQ(run_lockstep({"scenes", "--images", "12", "--out", folder_ / "mine"}).exit_code, 0);
  const std::string path = folder_ / "mine/annotations.json";
  auto all = nlohmann::json::parse(read_file(path));
  all["annotations"][0]["segmentation"] = {{1, 2, 3, 4}};
  write_file(path, all.dump());
  const Outcome outcome = run(
      "train", "run",
      {"DATASETS", "{mine: {IMAGES: " + (folder_ / "mine/images") + ", ANNOTATIONS: " + path + "}}",
       "TRAIN.DATASETS", "[mine]", "SOLVER.MAX_ITER", "1"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find(path + ": 1 polygon of fewer than three points left out"),
            std::string::npos)
      << outcome.out;
}

TEST_F(DetectorCommand, InferDrawsEveryPicture) {
  expect_trained("run");
  const Scenes scenes({.count = 2, .held_out = true});
  for (int i : {0, 1}) write_file(folder_ / join("photo", i, ".png"), png_of(scenes.picture(i)));
  write_file(folder_ / "broken.png", "no picture");
  const Outcome outcome =
      run_lockstep({"infer", run_folder("run"), folder_ / "photo0.png", folder_ / "broken.png",
                    folder_ / "photo1.png", "--out", folder_ / "seen", "--threshold", "0.0"});
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  EXPECT_NE(outcome.err.find("1 of 3 pictures could not be read"), std::string::npos);
  const std::string nothing =
      run_lockstep({"infer", run_folder("run"), folder_ / "photo0.png", "--threshold", "1"}).out;
  EXPECT_NE(nothing.find("nothing with a score of at least 1 (--threshold); the best is "),
            std::string::npos)
      << nothing;
  expect_refused(run_lockstep({"infer", run_folder("run"), folder_ / "photo0.png", "--top", "2"}),
                 {"--top does not apply to ", "which is a detector"});
  for (int i : {0, 1}) {
    EXPECT_GT(read_image(folder_ / join("seen/photo", i, ".png")).height, 128);
    const auto said = nlohmann::json::parse(read_file(folder_ / join("seen/photo", i, ".json")));
    EXPECT_EQ(said["height"], 128);
    ASSERT_FALSE(said["objects"].empty());
    const std::string name = said["objects"][0]["class"];
    EXPECT_TRUE(name == "disc" || name == "box" || name == "triangle" || name == "arrow") << name;
  }
}

// Photographs are not overwritten, and an error of the disk is not reported as an error of a
// picture.
TEST_F(DetectorCommand, InferLosesNoPicture) {
  expect_trained("run");
  const Scenes scenes({.count = 2, .held_out = true});
  make_folder(folder_ / "photos");
  for (int i : {0, 1}) write_file(folder_ / join("photos/", i, ".png"), png_of(scenes.picture(i)));
  const std::string before = read_file(folder_ / "photos/1.png");
  const auto infer = [&](const std::string& out, const ProgramOptions& options = {}) {
    return run_lockstep({"infer", run_folder("run"), folder_ / "photos", "--out", folder_ / out},
                        options);
  };
  expect_refused(infer("photos"), {"--out: ", "photos/0.png is one of the pictures"});
  expect_refused(infer("seen/../photos/."), {"photos/./0.png is one of the pictures"});
  EXPECT_TRUE(read_file(folder_ / "photos/1.png") == before);
  const Outcome full = infer("seen", {.file_size_limit = 500});
  expect_refused(full, {"cannot write", "seen/0.png"});
  EXPECT_EQ((full.out + full.err).find("unreadable"), std::string::npos) << full.out << full.err;
}

}  // namespace
}  // namespace lockstep::testing
