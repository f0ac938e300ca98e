// Where runs lie: no run is overwritten, resuming goes on in the right one, two never share one.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

class RunFolder : public TrainingCommand {
 protected:
  Outcome quick(const std::string& run, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"SOLVER.MAX_ITER", "7"});
    return train(run, more);
  }
};

TEST_F(RunFolder, EveryRunGetsTheNextOne) {
  ASSERT_EQ(quick("runs/digits").exit_code, 0);
  const std::string first = checkpoint("runs/digits");
  ASSERT_EQ(quick("runs/digits", {"RNG_SEED", "4"}).exit_code, 0);
  EXPECT_TRUE(checkpoint("runs/digits") == first);
  EXPECT_FALSE(checkpoint("runs/digits.2") == first);
  EXPECT_EQ(fs::read_symlink(folder / "runs/latest"), "digits.2");
  fs::create_directories(folder / "runs/digits.7");
  fs::create_directories(folder / "runs/digits.old");
  ASSERT_EQ(quick("runs/digits/").exit_code, 0) << "an empty folder may be used";
  EXPECT_TRUE(fs::exists(folder / "runs/digits.7/model.onnx"));
  ASSERT_EQ(quick("runs/digits").exit_code, 0);
  EXPECT_TRUE(checkpoint("runs/digits.8") == first);
  EXPECT_EQ(fs::read_symlink(folder / "runs/latest"), "digits.8");
}

TEST_F(RunFolder, TwoStartsAtOnceGetOneEach) {
  std::vector<std::unique_ptr<Program>> runs;
  for (int i = 0; i < 4; ++i)
    runs.push_back(std::make_unique<Program>(std::vector<std::string>{
        "train", config(), "OUTPUT_DIR", folder / "run", "SOLVER.MAX_ITER", "7"}));
  for (auto& run : runs) EXPECT_EQ(run->finish().exit_code, 0);
  for (const char* name : {"run", "run.2", "run.3", "run.4"})
    EXPECT_TRUE(checkpoint(name) == checkpoint("run")) << name;
}

TEST_F(RunFolder, ResumingTakesTheNewestOrTheOneNamed) {
  expect_refused(train("run", {"--resume"}), {"there is no run in", "/run'", "--resume auto"});
  Outcome started = train("run", {"--resume", "auto", "SOLVER.MAX_ITER", "7"});
  ASSERT_EQ(started.exit_code, 0) << started.err;
  EXPECT_EQ(started.out.find("resumed"), std::string::npos);
  Outcome longer = train("run", {"--resume", "auto", "SOLVER.MAX_ITER", "8"});
  EXPECT_NE(longer.out.find("resumed after iteration 7"), std::string::npos) << longer.out;
  ASSERT_EQ(quick("run").exit_code, 0);
  longer = train("run", {"--resume", "SOLVER.MAX_ITER", "9"});
  EXPECT_NE(longer.out.find("resumed after iteration 7"), std::string::npos) << longer.out;
  EXPECT_NE(longer.out.find("/run.2"), std::string::npos) << longer.out;
  longer = train("run", {"SOLVER.MAX_ITER", "9", "--resume", folder / "run"});
  EXPECT_NE(longer.out.find("resumed after iteration 8"), std::string::npos) << longer.out;
  EXPECT_TRUE(checkpoint("run") == checkpoint("run.2"));
  expect_refused(train("run", {"--resume", folder / "else"}), {"/else' contains no checkpoint"});
  fs::create_directories(folder / "run.3");
  write_file(folder / "run.3/notes.txt", "");
  expect_refused(train("run", {"--resume"}), {"/run.3' contains no checkpoint"});
}

TEST_F(RunFolder, OfAStartThatWasKilledIsTakenByTheNext) {
  ASSERT_EQ(quick("run").exit_code, 0);
  fs::create_directories(folder / "run.2");
  write_file(folder / "run.2/.lock", "1\n");
  Outcome longer = train("run", {"--resume", "SOLVER.MAX_ITER", "8"});
  EXPECT_NE(longer.out.find("resumed after iteration 7"), std::string::npos) << longer.err;
  ASSERT_EQ(quick("run").exit_code, 0);
  EXPECT_TRUE(fs::exists(folder / "run.2/model.onnx"));
}

TEST_F(RunFolder, MayBeNamedByALink) {
  ASSERT_EQ(quick("runs/a").exit_code, 0);
  for (int more : {8, 9}) {
    const Outcome longer = train(
        "runs/a", {"--resume", folder / "runs/latest", "SOLVER.MAX_ITER", std::to_string(more)});
    ASSERT_EQ(longer.exit_code, 0) << longer.err;
    EXPECT_EQ(fs::read_symlink(folder / "runs/latest"), "a");
  }
  fs::create_symlink("nowhere", folder / "runs/broken");
  fs::create_symlink("turns", folder / "runs/turns");
  EXPECT_EQ(train("runs/a", {"--resume", "SOLVER.MAX_ITER", "9"}).exit_code, 0);
}

TEST_F(RunFolder, ANameMayHoldAnything) {
  for (const char* name : {"runs #2", "a: b", "[x]", "{a}", "- a", " a "}) {
    ASSERT_EQ(quick(name).exit_code, 0) << name;
    EXPECT_TRUE(fs::exists(folder / (std::string(name) + "/model.onnx"))) << name;
  }
  for (const char* name : {"", ".", "..", "/"})
    expect_refused(run_lockstep({"train", config(), "OUTPUT_DIR", name}),
                   {"OUTPUT_DIR is '", "the name of a folder"});
}

TEST_F(RunFolder, FewerIterationsThanAreDoneAreRefused) {
  ASSERT_EQ(quick("run").exit_code, 0);
  const std::string old = checkpoint("run");
  expect_refused(train("run", {"--resume", "SOLVER.MAX_ITER", "3"}),
                 {"SOLVER.MAX_ITER is 3", "is from iteration 7"});
  EXPECT_TRUE(checkpoint("run") == old);
}

TEST_F(RunFolder, IsOneRunsAlone) {
  Program run({"train", config(), "OUTPUT_DIR", folder / "run", "SOLVER.MAX_ITER", "1000000"});
  ASSERT_TRUE(run.wait_for("iter     20"));
  expect_refused(train("run", {"--resume", folder / "run"}),
                 {"/run' is in use by another run, process "});
  run.send_signal(SIGTERM);
  EXPECT_EQ(run.finish().exit_code, 143);
}

TEST_F(RunFolder, OfARunThatCouldNotBeginIsNotLeft) {
  ASSERT_EQ(quick("run").exit_code, 0);
  expect_refused(quick("run", {"MODEL.WEIGHTS", folder / "none.safetensors"}),
                 {"none.safetensors"});
  EXPECT_FALSE(fs::exists(folder / "run.2"));
  // Nor the folders above it, unless they were there before or hold something else.
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

TEST_F(RunFolder, ThatCannotBeMadeIsNamed) {
  write_file(folder / "taken.2", "");
  ASSERT_EQ(quick("taken").exit_code, 0);
  ASSERT_EQ(quick("taken").exit_code, 0) << "a file is no run";
  EXPECT_TRUE(fs::exists(folder / "taken.3/model.onnx"));
  write_file(folder / "file", "");
  expect_refused(quick("file"), {"OUTPUT_DIR", "file"});
  expect_refused(quick("file/below"), {"OUTPUT_DIR", "file"});
}

}  // namespace
}  // namespace lockstep::testing
