// SPDX-License-Identifier: Apache-2.0
// The folders of runs: no run is overwritten, resuming continues the right run, and two runs never
// share a folder.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "tests/app/run_folder_fixture.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

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
  expect_refused(train("run", {"--resume", folder / "run.3"}), {"/run.3' contains no checkpoint"});
}

// A failed run has no checkpoint, but has a report with the reason.
TEST_F(RunFolder, OfARunWithoutACheckpointIsPassedOver) {
  ASSERT_EQ(quick("runs/a").exit_code, 0);
  const std::string first = folder / "runs/a", failed = folder / "runs/a.2";
  expect_refused(quick("runs/a", {"SOLVER.BASE_LR", "1e6"}), {"the loss is"});
  EXPECT_TRUE(fs::exists(failed + "/report.html"));
  EXPECT_EQ(fs::read_symlink(folder / "runs/latest"), "a");
  const std::string why = failed + " (contains no checkpoint.safetensors)";
  const std::string said = "uses " + first + "; passed over: " + why + "\n";
  const std::string picture = drawn_digit();
  const std::vector<std::string> test{"test", config(), "OUTPUT_DIR", first};
  const Outcome tested = run_lockstep(test);
  EXPECT_EQ(tested.err, "lockstep: " + said);
  EXPECT_NE(tested.out.find("weights " + first + "/checkpoint.safetensors"), std::string::npos);
  const std::string own = config("OUTPUT_DIR: " + first + "\n" + kTrainingConfig);
  EXPECT_EQ(run_lockstep({"infer", own, picture}).err, "lockstep: " + said);
  std::vector<std::string> words{"launch", "-n", "2", "--", "lockstep"};
  words.insert(words.end(), test.begin(), test.end());
  words.insert(words.end(), {"DEVICES", "cpu"});
  const Outcome both = run_lockstep(words);
  EXPECT_EQ(both.exit_code, 0) << both.out << both.err;
  EXPECT_EQ(both.out.find(said), both.out.rfind(said)) << "one process says it: " << both.out;
  EXPECT_NE(both.out.find(said), std::string::npos) << both.out;
  for (const char* resume : {"--resume", "auto"}) {
    std::vector<std::string> more{"--resume"};
    if (resume == std::string("auto")) more.emplace_back(resume);
    more.insert(more.end(), {"SOLVER.MAX_ITER", resume == std::string("auto") ? "9" : "8"});
    const Outcome longer = train("runs/a", more);
    EXPECT_EQ(longer.exit_code, 0) << longer.err;
    EXPECT_EQ(longer.err, "lockstep: --resume " + said);
    EXPECT_NE(longer.out.find("resumed after iteration"), std::string::npos) << longer.out;
  }
  EXPECT_TRUE(fs::exists(failed + "/report.html"));
}

// The target of the link may lack a checkpoint, belong to an earlier version, or be gone.
TEST_F(RunFolder, ALinkToARunWithoutACheckpointMeansTheNewestWithOne) {
  ASSERT_EQ(quick("runs/a").exit_code, 0);
  ASSERT_EQ(quick("runs/a").exit_code, 0);
  fs::create_directories(folder / "runs/a.3");
  write_file(folder / "runs/a.3/step.onnx", "");
  const std::string link = folder / "runs/latest", picture = drawn_digit();
  const auto point_to = [&](const char* name) {
    fs::remove(link);
    fs::create_directory_symlink(name, link);
  };
  for (const char* name : {"a.3", "a.9"}) {
    point_to(name);
    const std::string said = "uses " + (folder / "runs/a.2") + " instead of " + link;
    const Outcome seen = run_lockstep({"infer", link, picture});
    EXPECT_EQ(seen.exit_code, 0) << seen.err;
    EXPECT_NE(seen.err.find(said), std::string::npos) << seen.err;
    const Outcome written = run_lockstep({"export", link, "-o", folder / "out.onnx"});
    EXPECT_EQ(written.exit_code, 0) << written.err;
    EXPECT_NE(written.err.find(said), std::string::npos) << written.err;
    const Outcome longer = train("runs/a", {"--resume", link, "SOLVER.MAX_ITER", "8"});
    EXPECT_EQ(longer.exit_code, 0) << longer.err;
    EXPECT_NE(longer.err.find(said), std::string::npos) << longer.err;
    EXPECT_EQ(fs::read_symlink(link), "a.2");
  }
  point_to("b");
  expect_refused(run_lockstep({"export", link}), {"runs/latest' leads to ", "there is none"});
}

// Two networks with one OUTPUT_DIR.
TEST_F(RunFolder, OfAnotherNetworkIsPassedOver) {
  const std::vector<std::string> wide{"MODEL.HIDDEN", "[32, 17]"};
  ASSERT_EQ(quick("run").exit_code, 0);
  ASSERT_EQ(quick("run", wide).exit_code, 0);
  const std::string first = folder / "run", second = folder / "run.2";
  const std::string said = "uses " + first + "; passed over: " + second +
                           " (another network, with different shapes: fc2_w is float32[16,32], in "
                           "the file float32[17,32], ";
  const Outcome tested = run_lockstep({"test", config(), "OUTPUT_DIR", first});
  EXPECT_EQ(tested.exit_code, 0) << tested.err;
  EXPECT_NE(tested.err.find(said), std::string::npos) << tested.err;
  const Outcome seen = run_lockstep(
      {"infer", config("OUTPUT_DIR: " + first + "\n" + kTrainingConfig), drawn_digit()});
  EXPECT_EQ(seen.exit_code, 0) << seen.err;
  EXPECT_NE(seen.err.find(said), std::string::npos) << seen.err;
  const Outcome longer = train("run", {"--resume", "SOLVER.MAX_ITER", "8"});
  EXPECT_EQ(longer.exit_code, 0) << longer.err;
  EXPECT_NE(longer.err.find("--resume " + said), std::string::npos) << longer.err;
  EXPECT_NE(longer.out.find("resumed after iteration 7"), std::string::npos) << longer.out;

  const std::vector<std::string> wider{"MODEL.HIDDEN", "[32, 18]"};
  std::vector<std::string> test{"test", config(), "OUTPUT_DIR", first};
  test.insert(test.end(), wider.begin(), wider.end());
  expect_refused(run_lockstep(test),
                 {"no run of '" + first + "' fits", "--weights FILE selects other weights",
                  "\n  " + second + ": another network", "\n  " + first + ": another network"});
  std::vector<std::string> resume = wider;
  resume.emplace_back("--resume");
  expect_refused(train("run", resume),
                 {"no run of '" + first + "' can be resumed", "\n  " + second + ": another",
                  "\n  " + first + ": another"});
  resume.emplace_back("auto");
  resume.insert(resume.end(), {"SOLVER.MAX_ITER", "7"});
  const Outcome started = train("run", resume);
  EXPECT_EQ(started.exit_code, 0) << started.err;
  EXPECT_NE(started.err.find("--resume auto starts a run, since none can be resumed:"),
            std::string::npos);
  EXPECT_TRUE(fs::exists(folder / "run.3/model.onnx"));
}

// The same network with other data or another solver: the run with the current settings is resumed.
// No new run starts if only a forgotten key prevents resuming.
TEST_F(RunFolder, OfOtherSettingsIsNotResumed) {
  const std::vector<std::string> larger{"TRAIN.BATCH_SIZE", "20"};
  ASSERT_EQ(quick("run").exit_code, 0);
  ASSERT_EQ(quick("run", larger).exit_code, 0);
  const Outcome longer = train("run", {"--resume", "SOLVER.MAX_ITER", "8"});
  EXPECT_EQ(longer.exit_code, 0) << longer.err;
  EXPECT_NE(longer.err.find("passed over: " + (folder / "run.2") + " ("), std::string::npos);
  EXPECT_NE(longer.err.find("was saved with TRAIN.BATCH_SIZE 20, but now it is 16"),
            std::string::npos)
      << longer.err;
  for (const std::vector<std::string>& resume :
       {std::vector<std::string>{"--resume"}, {"--resume", "auto"}}) {
    std::vector<std::string> more = resume;
    more.insert(more.end(), {"TRAIN.BATCH_SIZE", "10"});
    expect_refused(train("run", more), {"was saved with TRAIN.BATCH_SIZE 20, but now it is 10"});
  }
  EXPECT_FALSE(fs::exists(folder / "run.3"));
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

TEST_F(RunFolder, ThatCannotBeMadeIsNamed) {
  write_file(folder / "taken.2", "");
  ASSERT_EQ(quick("taken").exit_code, 0);
  ASSERT_EQ(quick("taken").exit_code, 0) << "a file is not a run";
  EXPECT_TRUE(fs::exists(folder / "taken.3/model.onnx"));
  write_file(folder / "file", "");
  expect_refused(quick("file"), {"OUTPUT_DIR", "file"});
  expect_refused(quick("file/below"), {"OUTPUT_DIR", "file"});
}

}  // namespace
}  // namespace lockstep::testing
