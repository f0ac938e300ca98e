// SPDX-License-Identifier: Apache-2.0
// The folder that a run uses: a busy folder, a link, a folder that lost its newest checkpoint.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

// --resume, and its value if there is one.
std::vector<std::string> resuming(const std::string& word) {
  return word.empty() ? std::vector<std::string>{"--resume"}
                      : std::vector<std::string>{"--resume", word};
}

class RunPlaceTest : public TrainingCommand {
 protected:
  Outcome quick(const std::string& run, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"SOLVER.MAX_ITER", "7"});
    return train(run, more);
  }
  // A run that trains until a signal. Returns after its first steps; the run writes no checkpoint
  // before the signal.
  std::unique_ptr<Program> long_run(const std::string& run, std::vector<std::string> more = {}) {
    std::vector<std::string> words{
        "train",   config(),          "OUTPUT_DIR", folder / run, "TRAIN.SNAPSHOT_ITERS",
        "1000000", "SOLVER.MAX_ITER", "1000000"};
    words.insert(words.end(), more.begin(), more.end());
    auto program = std::make_unique<Program>(words);
    EXPECT_TRUE(program->wait_for("iter     20"));
    return program;
  }
};

// Another program or a full disk may empty the file with the process id. No older run is resumed
// instead.
TEST_F(RunPlaceTest, IsHeldByAProcessWithoutANumberToo) {
  ASSERT_EQ(quick("run").exit_code, 0);
  const auto run = long_run("run");
  fs::resize_file(folder / "run.2/.lock", 0);
  for (const char* word : {"auto", ""})
    expect_refused(train("run", resuming(word)),
                   {"/run.2' is in use by another run; --resume FOLDER"});
  EXPECT_FALSE(fs::exists(folder / "run.3"));
  run->send_signal(SIGTERM);
  EXPECT_EQ(run->finish().exit_code, 143);
}

// `latest` moves to a run that starts meanwhile. The resumed run stays in its own folder.
TEST_F(RunPlaceTest, IsTheFolderThatALinkLedToAtTheStart) {
  for (const char* named : {"runs/latest", "runs/latest/", "runs/latest//", "runs/latest/.",
                            "runs/latest/checkpoint.safetensors"}) {
    fs::remove_all(folder / "runs");
    ASSERT_EQ(quick("runs/a").exit_code, 0);
    const auto resumed = long_run("runs/a", {"--resume", folder / named});
    ASSERT_EQ(quick("runs/a", {"RNG_SEED", "4"}).exit_code, 0);
    EXPECT_EQ(fs::read_symlink(folder / "runs/latest"), "a.2") << named;
    const std::string other = checkpoint("runs/a.2");
    resumed->send_signal(SIGINT);
    const Outcome ended = resumed->finish();
    EXPECT_EQ(ended.exit_code, 130) << ended.err;
    EXPECT_TRUE(checkpoint("runs/a.2") == other) << named;
    EXPECT_FALSE(checkpoint("runs/a") == other) << named;
    const std::string real = folder / "runs/a";
    EXPECT_NE(ended.out.find("lockstep train " + real + "/config.yaml --resume " + real + "\n"),
              std::string::npos)
        << ended.out;
  }
}

TEST_F(RunPlaceTest, ALinkWithASlashFallsBackAsTheLinkDoes) {
  ASSERT_EQ(quick("runs/a").exit_code, 0);
  const std::string link = folder / "runs/latest", run = folder / "runs/a";
  fs::remove(link);
  fs::create_directory_symlink("a.9", link);
  const std::string said = "uses " + run + " instead of " + link + "/, which leads to ";
  const Outcome written = run_lockstep({"export", link + "/", "-o", folder / "out.onnx"});
  EXPECT_EQ(written.exit_code, 0) << written.err;
  EXPECT_NE(written.err.find(said), std::string::npos) << written.err;
  EXPECT_NE(written.out.find("weights from " + run + "/checkpoint.safetensors"), std::string::npos)
      << written.out;
  const std::string missing = folder / "none.png";
  expect_refused(run_lockstep({"infer", link + "/", missing}), {said, "none.png"});
  const Outcome longer = train("runs/a", {"--resume", link + "/", "SOLVER.MAX_ITER", "8"});
  EXPECT_EQ(longer.exit_code, 0) << longer.err;
  EXPECT_NE(longer.err.find(said), std::string::npos) << longer.err;
  EXPECT_EQ(fs::read_symlink(link), "a");
}

// The link never points to itself.
TEST_F(RunPlaceTest, AFileBelowTheLinkIsResumedInItsRun) {
  ASSERT_EQ(quick("runs/a").exit_code, 0);
  const Outcome longer = train("runs/a", {"--resume", folder / "runs/latest/checkpoint.safetensors",
                                          "SOLVER.MAX_ITER", "9"});
  EXPECT_EQ(longer.exit_code, 0) << longer.err;
  EXPECT_NE(longer.out.find("resumed after iteration 7"), std::string::npos) << longer.out;
  EXPECT_EQ(fs::read_symlink(folder / "runs/latest"), "a");
  ASSERT_EQ(train("runs/b", {"SOLVER.MAX_ITER", "9"}).exit_code, 0);
  EXPECT_TRUE(checkpoint("runs/a") == checkpoint("runs/b"));
  // A new run in an empty folder that the link points to.
  fs::create_directory(folder / "runs/c");
  fs::remove(folder / "runs/latest");
  fs::create_directory_symlink("c", folder / "runs/latest");
  ASSERT_EQ(quick("runs/latest").exit_code, 0);
  EXPECT_EQ(fs::read_symlink(folder / "runs/latest"), "c");
}

// An unmounted disk, a removed run, two links that point to each other.
TEST_F(RunPlaceTest, NoLinkThatLeadsNowhereIsInTheWay) {
  ASSERT_EQ(quick("runs/a").exit_code, 0);
  fs::create_symlink("nowhere", folder / "runs/a.2");
  fs::create_symlink("a.3", folder / "runs/a.3");
  Outcome started = quick("runs/a");
  EXPECT_EQ(started.exit_code, 0) << started.err;
  EXPECT_TRUE(fs::exists(folder / "runs/a.4/model.onnx"));
  started = train("runs/a", {"--resume", "SOLVER.MAX_ITER", "8"});
  EXPECT_EQ(started.exit_code, 0) << started.err;
  EXPECT_NE(started.out.find("/runs/a.4"), std::string::npos) << started.out;
  fs::remove_all(folder / "runs/a.4");
  EXPECT_EQ(quick("runs/a", {"--resume", "auto", "MODEL.HIDDEN", "[8]"}).exit_code, 0);
  EXPECT_TRUE(fs::exists(folder / "runs/a.4/model.onnx"));

  // A name without a number has no next name.
  for (const char* target : {"nowhere", "b"}) {
    const std::string link = folder / "runs/b";
    fs::remove(link);
    fs::create_symlink(target, link);
    for (const char* name : {"runs/b", "runs/b/"})
      expect_refused(quick(name),
                     {"OUTPUT_DIR: the link '" + link + "' leads to '" + (folder / "runs") + "/" +
                      target + "', which is no folder; remove the link, or create the folder"});
    EXPECT_TRUE(fs::is_symlink(link));
  }
}

TEST_F(RunPlaceTest, WithAPreviousCheckpointOnlyOffersIt) {
  ASSERT_EQ(train("run", {"SOLVER.MAX_ITER", "14"}).exit_code, 0);
  ASSERT_EQ(train("run", {"SOLVER.MAX_ITER", "14"}).exit_code, 0);
  const std::string first = folder / "run", second = folder / "run.2";
  const std::string previous = second + "/checkpoint.previous.safetensors";
  fs::remove(second + "/checkpoint.safetensors");
  ASSERT_TRUE(fs::exists(previous));
  const std::string own = config("OUTPUT_DIR: " + first + "\n" + kTrainingConfig);
  const std::string gone = "the previous checkpoint, from iteration 7, is intact; ";
  const std::string picture = folder / "none.png";
  expect_refused(run_lockstep({"train", own, "--resume"}),
                 {gone + "continue from it with:  lockstep train " + second +
                  "/config.yaml --resume " + previous});
  expect_refused(run_lockstep({"train", own, "--resume", "auto"}), {gone});
  expect_refused(run_lockstep({"test", own}),
                 {gone + "use it with:  lockstep test " + own + " --weights " + previous});
  for (const std::string& source : {own, second})
    expect_refused(run_lockstep({"infer", source, picture}),
                   {gone + "use it with:  lockstep infer " + second + " --weights " + previous});
  expect_refused(run_lockstep({"export", second, "-o", folder / "no.onnx"}),
                 {second + "' contains no checkpoint.safetensors; " + gone +
                  "use it with:  lockstep export " + previous});
  EXPECT_FALSE(fs::exists(folder / "no.onnx"));
  EXPECT_EQ(run_lockstep({"export", previous, "-o", folder / "out.onnx"}).exit_code, 0);
  expect_refused(run_lockstep({"infer", second, picture, "--weights", previous}), {"none.png"});
}

TEST_F(RunPlaceTest, OfOthersWithAPreviousCheckpointOnlyIsPassedOver) {
  ASSERT_EQ(quick("run").exit_code, 0);
  const std::string first = folder / "run", second = folder / "run.2";
  const std::string picture = folder / "none.png";
  const auto without_newest = [&](const std::vector<std::string>& other) {
    fs::remove_all(second);
    std::vector<std::string> more{"SOLVER.MAX_ITER", "14"};
    more.insert(more.end(), other.begin(), other.end());
    EXPECT_EQ(train("run", more).exit_code, 0);
    fs::remove(second + "/checkpoint.safetensors");
  };
  without_newest({"TRAIN.BATCH_SIZE", "20"});
  Outcome longer = train("run", {"--resume", "SOLVER.MAX_ITER", "8"});
  EXPECT_EQ(longer.exit_code, 0) << longer.err;
  EXPECT_NE(longer.err.find("passed over: " + second + " ("), std::string::npos) << longer.err;
  EXPECT_NE(longer.err.find("was saved with TRAIN.BATCH_SIZE 20"), std::string::npos) << longer.err;
  without_newest({"MODEL.HIDDEN", "[32, 17]"});
  const std::string said = "uses " + first + "; passed over: " + second + " (another network, ";
  for (const char* word : {"auto", ""}) {
    std::vector<std::string> more = resuming(word);
    more.insert(more.end(), {"SOLVER.MAX_ITER", "9"});
    longer = train("run", more);
    EXPECT_EQ(longer.exit_code, 0) << longer.err;
    EXPECT_NE(longer.err.find(said), std::string::npos) << longer.err;
  }
  const std::string own = config("OUTPUT_DIR: " + first + "\n" + kTrainingConfig);
  const Outcome tested = run_lockstep({"test", own});
  EXPECT_EQ(tested.exit_code, 0) << tested.err;
  EXPECT_NE(tested.err.find(said), std::string::npos) << tested.err;
  expect_refused(run_lockstep({"infer", own, picture}), {said, "none.png"});
  const Outcome begun = quick("run", {"--resume", "auto", "MODEL.HIDDEN", "[8]"});
  EXPECT_EQ(begun.exit_code, 0) << begun.err;
  EXPECT_TRUE(fs::exists(folder / "run.3/model.onnx"));
}

// A scheduler that starts a job twice gets one run, not two runs in the same folder.
TEST_F(RunPlaceTest, IsBegunByOneOfSimultaneousAutos) {
  std::vector<std::unique_ptr<Program>> runs;
  for (int i = 0; i < 4; ++i)
    runs.push_back(std::make_unique<Program>(std::vector<std::string>{
        "train", config(), "OUTPUT_DIR", folder / "run", "--resume", "auto", "TRAIN.SNAPSHOT_ITERS",
        "1000000", "SOLVER.MAX_ITER", "1000000"}));
  int began = 0;
  for (const auto& run : runs) {
    if (run->wait_for("iter     20")) {
      ++began;
      continue;
    }
    expect_refused(run->finish(), {"/run' is in use by another run, process "});
  }
  EXPECT_EQ(began, 1);
  EXPECT_TRUE(fs::exists(folder / "run/metrics.jsonl"));
  EXPECT_FALSE(fs::exists(folder / "run.2"));
}

// A run with an empty folder.
TEST_F(RunPlaceTest, OfARunThatIsJustBeginningIsInUse) {
  ASSERT_EQ(quick("run").exit_code, 0);
  const std::string lock = folder / "run.2/.lock";
  fs::create_directory(folder / "run.2");
  write_file(lock, "77\n");
  const int file = open(lock.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(file, LOCK_EX | LOCK_NB), 0);
  for (const char* word : {"auto", ""}) {
    std::vector<std::string> more = resuming(word);
    more.insert(more.end(), {"SOLVER.MAX_ITER", "8"});
    expect_refused(train("run", more), {"/run.2' is in use by another run, process 77; "});
  }
  const Outcome tested = run_lockstep({"test", config(), "OUTPUT_DIR", folder / "run"});
  EXPECT_EQ(tested.exit_code, 0) << tested.err;
  close(file);
  const Outcome longer = train("run", {"--resume", "SOLVER.MAX_ITER", "8"});
  EXPECT_EQ(longer.exit_code, 0) << "the folder is free once its run has ended: " << longer.err;
}

}  // namespace
}  // namespace lockstep::testing
