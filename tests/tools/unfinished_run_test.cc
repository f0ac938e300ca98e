// SPDX-License-Identifier: Apache-2.0
// Runs that ended too early: killed, interrupted, or failed before a step. Their folders are kept
// or reused.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "tests/app/run_folder_fixture.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

using UnfinishedRun = RunFolder;

TEST_F(UnfinishedRun, OfAStartThatWasKilledIsTakenByTheNext) {
  ASSERT_EQ(quick("run").exit_code, 0);
  fs::create_directories(folder / "run.2");
  write_file(folder / "run.2/.lock", "1\n");
  Outcome longer = train("run", {"--resume", "SOLVER.MAX_ITER", "8"});
  EXPECT_NE(longer.out.find("resumed after iteration 7"), std::string::npos) << longer.err;
  ASSERT_EQ(quick("run").exit_code, 0);
  EXPECT_TRUE(fs::exists(folder / "run.2/model.onnx"));
}

// A start that was killed before its first step, with all files that it had written.
TEST_F(UnfinishedRun, OfAKilledStartWithFilesIsTakenByTheNextToo) {
  ASSERT_EQ(quick("run").exit_code, 0);
  ASSERT_EQ(quick("run").exit_code, 0);
  const fs::path killed = folder / "run.2";
  for (const char* result :
       {"checkpoint.safetensors", "best.onnx", "best.safetensors", "model.onnx"})
    fs::remove(killed / result);
  fs::remove(killed / "checkpoint.previous.safetensors");
  write_file(killed / "metrics.jsonl", "");
  write_file(killed / "step.onnx.tmp", "half");
  const std::string events = "events.out.tfevents.1.1.lockstep";
  write_file(killed / events, "");
  const std::string lock = read_file(killed / ".lock");
  // A step was done, so the folder is kept.
  ASSERT_NE(lock.find("begun"), std::string::npos);
  ASSERT_EQ(quick("run").exit_code, 0);
  EXPECT_TRUE(fs::exists(folder / "run.3/model.onnx"));
  fs::remove_all(folder / "run.3");
  write_file(killed / ".lock", "1\n");
  ASSERT_EQ(quick("run").exit_code, 0);
  EXPECT_TRUE(fs::exists(killed / "model.onnx"));
  EXPECT_FALSE(fs::exists(killed / events)) << "left by the earlier start";
  EXPECT_FALSE(fs::exists(folder / "run.3"));
  // The same files without a lock belong to the user.
  fs::create_directories(folder / "run.3");
  write_file(folder / "run.3/config.yaml", "mine");
  ASSERT_EQ(quick("run").exit_code, 0);
  EXPECT_EQ(read_file(folder / "run.3/config.yaml"), "mine");
  EXPECT_TRUE(fs::exists(folder / "run.4/model.onnx"));
}

// Killed after a row of metrics and before a checkpoint. The folder is kept and passed over, and a
// scheduler's job starts again.
TEST_F(UnfinishedRun, OfARunThatWasKilledEarlyIsPassedOver) {
  ASSERT_EQ(quick("run").exit_code, 0);
  const std::vector<std::string> late{"OUTPUT_DIR", folder / "run",    "TRAIN.SNAPSHOT_ITERS",
                                      "1000000",    "SOLVER.MAX_ITER", "1000000"};
  std::vector<std::string> words{"train", config()};
  words.insert(words.end(), late.begin(), late.end());
  Program run(words);
  ASSERT_TRUE(run.wait_for("iter      5"));
  const std::vector<std::string> test{"test", config(), "OUTPUT_DIR", folder / "run"};
  EXPECT_NE(run_lockstep(test).err.find("passed over: " + (folder / "run.2")), std::string::npos)
      << "it has no checkpoint yet";
  for (const char* resume : {"auto", ""}) {
    std::vector<std::string> more{"--resume"};
    if (*resume != 0) more.emplace_back(resume);
    expect_refused(train("run", more), {"/run.2' is in use by another run, process "});
  }
  run.send_signal(SIGKILL);
  EXPECT_EQ(run.finish().exit_code, 128 + 9);
  EXPECT_FALSE(read_file(folder / "run.2/metrics.jsonl").empty());
  const Outcome longer = train("run", {"--resume", "SOLVER.MAX_ITER", "8"});
  EXPECT_EQ(longer.exit_code, 0) << longer.err;
  EXPECT_NE(longer.out.find("resumed after iteration 7"), std::string::npos) << longer.out;
  ASSERT_EQ(quick("run").exit_code, 0);
  EXPECT_TRUE(fs::exists(folder / "run.3/model.onnx"));
  fs::remove_all(folder / "run.3");
  fs::remove_all(folder / "run");
  Outcome again = train("run", {"--resume", "auto", "SOLVER.MAX_ITER", "7"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_NE(again.err.find("begins again in " + (folder / "run.2")), std::string::npos);
  EXPECT_TRUE(fs::exists(folder / "run.2/model.onnx"));
}

// Ctrl-C saves, even before the first checkpoint is due.
TEST_F(UnfinishedRun, OfARunThatWasInterruptedEarlyGoesOn) {
  Program run({"train", config(), "OUTPUT_DIR", folder / "runs/a", "TRAIN.SNAPSHOT_ITERS",
               "1000000", "SOLVER.MAX_ITER", "1000000"});
  ASSERT_TRUE(run.wait_for("iter      5"));
  EXPECT_FALSE(fs::is_symlink(folder / "runs/latest")) << "there is nothing to use yet";
  run.send_signal(SIGINT);
  EXPECT_EQ(run.finish().exit_code, 130);
  EXPECT_EQ(fs::read_symlink(folder / "runs/latest"), "a");
  EXPECT_EQ(run_lockstep({"export", folder / "runs/latest", "-o", folder / "a.onnx"}).exit_code, 0);
}

TEST_F(UnfinishedRun, OfARunThatCouldNotBeginIsNotLeft) {
  ASSERT_EQ(quick("run").exit_code, 0);
  expect_refused(quick("run", {"MODEL.WEIGHTS", folder / "none.safetensors"}),
                 {"none.safetensors"});
  EXPECT_FALSE(fs::exists(folder / "run.2"));
  // A refused run leaves no parent folders either, unless they existed before or have other
  // contents.
  const std::vector<std::string> refused{"MODEL.WEIGHTS", folder / "none.safetensors"};
  expect_refused(quick("new/deep/run", refused), {"none.safetensors"});
  EXPECT_FALSE(fs::exists(folder / "new"));
  fs::create_directories(folder / "old");
  expect_refused(quick("old/deep/run", refused), {"none.safetensors"});
  EXPECT_TRUE(fs::is_empty(folder / "old"));
  ASSERT_EQ(quick("new/deep/run").exit_code, 0);
  expect_refused(quick("new/other/run", refused), {"none.safetensors"});
  EXPECT_FALSE(fs::exists(folder / "new/other"));
  EXPECT_TRUE(fs::exists(folder / "new/deep/run/model.onnx"));
}

// The first batch cannot be read. A second attempt finds no empty folders. The network is large
// enough to store its weights in step.onnx.data.
TEST_F(UnfinishedRun, OfARunWhoseFirstBatchIsBadIsNotLeft) {
  for (const char* part : {"train", "val"})
    for (const char* name : {"a", "b"}) {
      const std::string into = folder / (std::string("pictures/") + part + "/" + name);
      fs::create_directories(into);
      for (int i = 0; i < 8; ++i) fs::copy(drawn_digit(), into + "/" + std::to_string(i) + ".png");
    }
  const std::string config = folder / "pictures.yaml";
  write_file(config,
             "MODEL: {TYPE: mlp, HIDDEN: [400], NUM_CLASSES: 2}\nTRAIN: {BATCH_SIZE: 16}\n"
             "DATA: {NAME: image_folder, ROOT: " +
                 (folder / "pictures") + ", IMAGE_SIZE: 16}\nSOLVER: {MAX_ITER: 3}\n");
  const std::string broken = folder / "pictures/train/a/3.png", whole = read_file(broken);
  write_file(broken, whole.substr(0, whole.size() / 2));
  const std::vector<std::string> words{"train", config, "OUTPUT_DIR", folder / "new/run"};
  for (int tries = 0; tries < 2; ++tries) {
    expect_refused(run_lockstep(words), {"train/a/3.png"});
    EXPECT_FALSE(fs::exists(folder / "new"));
  }
  std::vector<std::string> both{"launch", "-n", "2", "--", "lockstep"};
  both.insert(both.end(), words.begin(), words.end());
  EXPECT_EQ(run_lockstep(both).exit_code, 2);
  EXPECT_FALSE(fs::exists(folder / "new"));
  write_file(broken, whole);
  // Only rank 1 fails.
  std::vector<std::string> one{
      "launch", "-n", "2", "--", "sh", "-c", R"(exec "$@" DATA.ROOT "$0$RANK")"};
  one.insert(one.end(), {folder / "pictures", run_path()});
  one.insert(one.end(), words.begin(), words.end());
  fs::copy(folder / "pictures", folder / "pictures0", fs::copy_options::recursive);
  const Outcome without_pictures = run_lockstep(one);
  EXPECT_EQ(without_pictures.exit_code, 2);
  EXPECT_NE(without_pictures.out.find("there is no folder '" + (folder / "pictures1")),
            std::string::npos)
      << without_pictures.out;
  EXPECT_FALSE(fs::exists(folder / "new"));
  EXPECT_EQ(run_lockstep(words).exit_code, 0);
  EXPECT_TRUE(fs::exists(folder / "new/run/step.onnx.data"));
}

}  // namespace
}  // namespace lockstep::testing
